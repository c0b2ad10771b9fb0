"""grpc_peer.py <host:port>: grpcio against a gate whose model `small` has two requests a minute."""
import sys

import grpc
import health_pb2
from weir.v1 import quota_pb2


def expect(got, wanted):
    if got != wanted:
        sys.exit(f"found {got!r}, expected {wanted!r}")


def main():
    with grpc.insecure_channel(sys.argv[1]) as channel:

        def call(method, request, response, **options):
            return channel.unary_unary(f"/weir.v1.Quota/{method}", request_serializer=type(request).SerializeToString,
                                       response_deserializer=response.FromString)(request, timeout=60, **options)

        def code(method, request, **options):
            try:
                call(method, request, quota_pb2.Decision, **options)
            except grpc.RpcError as error:
                return error.code(), error.details()
            return grpc.StatusCode.OK, ""

        decided = call("Decide", quota_pb2.DecideRequest(model="small", tokens=9, charge=True), quota_pb2.Decision)
        expect((decided.allowed, decided.code, decided.usage.rpm), (True, "ok", 1))
        reserved = call("Reserve", quota_pb2.ReserveRequest(model="small", tokens=900), quota_pb2.Decision)
        refused = call("Reserve", quota_pb2.ReserveRequest(model="small", tokens=9), quota_pb2.Decision)
        expect((refused.allowed, refused.code, refused.HasField("retry_after_seconds")), (False, "rpm_exceeded", True))
        extended = call("Extend", quota_pb2.ExtendRequest(reservation=reserved.reservation, ttl_seconds=3600),
                        quota_pb2.Extension)
        expect(extended.ttl_seconds > 3500, True)
        settled = call("Commit", quota_pb2.CommitRequest(reservation=reserved.reservation, prompt_tokens=412,
                                                         output_tokens=301), quota_pb2.Settlement)
        expect((settled.model, settled.actual_tokens), ("small", 713))
        expect(code("Decide", quota_pb2.DecideRequest()),
               (grpc.StatusCode.INVALID_ARGUMENT, "invalid_request: model: missing, expected the model's name"))
        expect(code("Refund", quota_pb2.RefundRequest(reservation="nothing"))[0], grpc.StatusCode.NOT_FOUND)
        expect(code("Nothing", quota_pb2.DecideRequest())[0], grpc.StatusCode.UNIMPLEMENTED)
        expect(code("Decide", quota_pb2.DecideRequest(model="m"), compression=grpc.Compression.Gzip)[0],
               grpc.StatusCode.UNIMPLEMENTED)
        expect(code("Decide", quota_pb2.DecideRequest(model="m" * 2_000_000))[0], grpc.StatusCode.RESOURCE_EXHAUSTED)
        check = channel.unary_unary("/grpc.health.v1.Health/Check",
                                    request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                                    response_deserializer=health_pb2.HealthCheckResponse.FromString)
        for service in ("", "weir.v1.Quota"):
            answer = check(health_pb2.HealthCheckRequest(service=service), timeout=60)
            expect(answer.status, health_pb2.HealthCheckResponse.SERVING)
        health = channel.unary_stream("/grpc.health.v1.Health/Watch",
                                      request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                                      response_deserializer=health_pb2.HealthCheckResponse.FromString)
        statuses = health(health_pb2.HealthCheckRequest(service="weir.v1.Quota"), timeout=60)
        expect(next(statuses).status, health_pb2.HealthCheckResponse.SERVING)
        statuses.cancel()

        watch = channel.unary_stream("/weir.v1.Quota/Watch",
                                     request_serializer=quota_pb2.WatchRequest.SerializeToString,
                                     response_deserializer=quota_pb2.Decision.FromString)
        decisions = watch(quota_pb2.WatchRequest(model="watched"), timeout=60)
        expect(next(decisions).usage.rpm, 0)
        call("Record", quota_pb2.RecordRequest(model="watched", tokens=7), quota_pb2.Decision)
        expect(next(decisions).usage.tpm, 7)
        decisions.cancel()
        short = watch(quota_pb2.WatchRequest(model="watched"), timeout=0.5)
        next(short)
        try:
            next(short)
            sys.exit("a watch went on beyond its deadline")
        except grpc.RpcError as error:
            expect(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        many = [channel.unary_unary("/weir.v1.Quota/Decide",
                                    request_serializer=quota_pb2.DecideRequest.SerializeToString,
                                    response_deserializer=quota_pb2.Decision.FromString).future(
                                        quota_pb2.DecideRequest(model=f"model {n}", tokens=n), timeout=60)
                for n in range(1000)]
        expect(all(one.result().allowed for one in many), True)


main()
