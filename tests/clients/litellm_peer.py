"""litellm_peer.py <host:port>: the hook weir_hook.py of this directory against that gate. Without litellm, which takes a minute to
install, its class and calls are what LiteLLM documents."""
import asyncio
import json
import sys
import types
import urllib.request

sys.path.insert(0, ".")
try:
    import litellm
except ImportError:
    litellm = None
    for name in ("litellm", "litellm.integrations", "litellm.integrations.custom_logger"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["litellm.integrations.custom_logger"].CustomLogger = type("CustomLogger", (), {})
try:
    import fastapi
except ImportError:
    class HTTPException(Exception):
        def __init__(self, status_code, detail=None, headers=None):
            super().__init__(status_code, detail)
            self.status_code, self.detail, self.headers = status_code, detail, headers
    fastapi = sys.modules["fastapi"] = types.ModuleType("fastapi")
    fastapi.HTTPException = HTTPException

from weir_hook import handler

KEY = types.SimpleNamespace(user_id="alice", team_id=None)


def expect(got, wanted):
    if got != wanted:
        sys.exit(f"found {got!r}, expected {wanted!r}")


def usage():
    with urllib.request.urlopen(f"http://{sys.argv[1]}/v1/models/gpt-4o") as answer:
        return json.load(answer)["usage"]


async def ask(**more):
    data = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Good morning."}], "max_tokens": 500, **more}
    return await handler.async_pre_call_hook(KEY, None, data, "acompletion")


async def call(data):
    """As the proxy does; returns the tokens that were used."""
    if litellm:
        litellm.callbacks = [handler]
        response = await litellm.acompletion(**data, mock_response="Good morning to you.")
        used = response.usage
        for _ in range(300):  # it is logged when there is time
            if usage()["open_reservations"] == 0:
                break
            await asyncio.sleep(0.1)
    else:
        used = types.SimpleNamespace(prompt_tokens=12, completion_tokens=30)
        response = types.SimpleNamespace(usage=used)
        await handler.async_log_success_event({"litellm_params": {"metadata": data["metadata"]}}, response, None, None)
    return used.prompt_tokens + used.completion_tokens


async def main():
    data = await ask()
    expect(usage()["open_reservations"], 1)
    expect(usage()["tpm"] >= 500, True)
    used = await call(data)
    counted = usage()
    expect((counted["open_reservations"], counted["tpm"]), (0, used))

    data = await ask(metadata={"trace": "kept"})
    expect(data["metadata"]["trace"], "kept")
    await handler.async_post_call_failure_hook(data, RuntimeError("the provider hung up"), KEY)
    expect((usage()["open_reservations"], usage()["tpm"]), (0, used))

    for tokens, status, waits in ((100_000, 413, False), (29_900, 429, True)):
        if status == 429:
            await ask(max_tokens=1000)
        try:
            await ask(max_tokens=tokens)
            sys.exit(f"{tokens} tokens were let through")
        except fastapi.HTTPException as refused:
            expect((refused.status_code, refused.detail["allowed"]), (status, False))
            expect("retry-after" in refused.headers, waits)
    await handler.async_post_call_failure_hook({"model": "gpt-4o"}, RuntimeError("refused before"), KEY)
    print("good with", f"litellm {litellm.__file__}" if litellm else "calls as litellm documents them")


asyncio.run(main())
