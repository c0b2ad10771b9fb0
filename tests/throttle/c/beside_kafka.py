#!/usr/bin/env python3
"""beside_kafka.py <command…>: runs the command while a Kafka runs, whose address is in BOOTSTRAP_SERVERS. Status 77: none is here."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy"))
import servers  # noqa: E402

try:
    with tempfile.TemporaryDirectory() as directory, servers.kafka(directory) as address:
        sys.exit(subprocess.run(sys.argv[1:], env=os.environ | {"BOOTSTRAP_SERVERS": address}).returncode)
except servers.Skip as missing:
    print(missing)
    sys.exit(77)
