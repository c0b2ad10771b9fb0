"""ask_by_grpcio.py HOST:PORT: asks the rate limit service as programs in Python do, and prints what it is answered."""
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
from envoy.service.ratelimit.v3 import rls_pb2

SERVICE = "/envoy.service.ratelimit.v3.RateLimitService/"
RESPONSE = rls_pb2.RateLimitResponse


def main():
    channel = grpc.insecure_channel(sys.argv[1])

    def method(name):
        return channel.unary_unary(
            SERVICE + name,
            request_serializer=rls_pb2.RateLimitRequest.SerializeToString,
            response_deserializer=RESPONSE.FromString,
        )

    def request(key, value):
        asked = rls_pb2.RateLimitRequest(domain="d")
        asked.descriptors.add().entries.add(key=key, value=value)
        return asked

    ask = method("ShouldRateLimit")
    for _ in range(3):
        answer = ask(request("a", "1"), timeout=30)
        status = answer.statuses[0]
        unit = RESPONSE.RateLimit.Unit.Name(status.current_limit.unit)
        print(RESPONSE.Code.Name(answer.overall_code), status.limit_remaining, unit)
    for call, what in ((ask, True), (method("Nothing"), False)):
        try:
            call(rls_pb2.RateLimitRequest(), timeout=30)
        except grpc.RpcError as error:
            print(error.code().name, *([error.details()] if what else []))
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: ask(request("free", str(n)), timeout=30), range(200)))
    codes = {RESPONSE.Code.Name(answer.overall_code) for answer in answers}
    print(f"{len(answers)} calls, 8 at once: {' '.join(codes)}")


main()
