"""Errands as an OpenEnv environment: `app` for an ASGI server, `main` to run one.

`ERRANDS_PROTOCOLS` names the protocols that are served, each a split: `shop-demo` without it.
"""

import argparse
import os

import uvicorn

from errands.integrations import openenv

app = openenv.app(*os.environ.get("ERRANDS_PROTOCOLS", "shop-demo").split())


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description="Serve errands as an OpenEnv environment.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    where = parser.parse_args()
    uvicorn.run(app, host=where.host, port=where.port, ws_max_size=2**20)


if __name__ == "__main__":
    main()
