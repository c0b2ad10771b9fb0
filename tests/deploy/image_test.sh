#!/bin/sh
# image_test.sh: builds the image of deploy/Dockerfile and runs it with a root file system that it cannot write to: it is healthy,
# keeps its events when another container follows, and stops in order. Minutes; it compiles weir anew.
# Status 77, skipped: no Docker answers. DOCKER_BUILD_ARGS are those of docker build.
set -eu
cd "$(dirname "$0")/../.."
docker info >/dev/null 2>&1 || { echo "skipped: no Docker answers"; exit 77; }
image=weir-test-$$
finish() {
  docker rm -f "$image" >/dev/null 2>&1 || true
  docker volume rm "$image" >/dev/null 2>&1 || true
}
trap finish EXIT

docker build ${DOCKER_BUILD_ARGS:-} -f deploy/Dockerfile -t "$image" .
run() {
  docker run -d --name "$image" --network none --read-only --cap-drop ALL --security-opt no-new-privileges \
    -v "$image:/var/lib/weir" "$image" >/dev/null
  for _ in $(seq 600); do
    health=$(docker inspect -f '{{.State.Health.Status}}' "$image")
    [ "$health" != healthy ] || return 0
    [ "$(docker inspect -f '{{.State.Running}}' "$image")" = true ] || break
    sleep 0.1
  done
  echo "the container is $health" >&2
  docker logs "$image" >&2
  exit 1
}

run
test "$(docker exec "$image" id -u)" != 0
docker exec -i "$image" weir import --quiet - <tests/relay/nostr/data/real_events.jsonl
events=$(docker exec "$image" weir scan --count '{}')
test "$events" -gt 0
docker stop --time 60 "$image" >/dev/null
test "$(docker inspect -f '{{.State.ExitCode}}' "$image")" = 0
docker rm "$image" >/dev/null

run
test "$(docker exec "$image" weir scan --count '{}')" = "$events"
echo "healthy, and $events events lived from one container to the next"
