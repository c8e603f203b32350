"""The scripted model of `errands.testing`, also behind a chat endpoint on loopback."""

import json
from typing import Any

from chat_endpoint import Endpoint

from errands.testing.adapter import ScriptedCall, ScriptedModel

Call = ScriptedCall


class Script(ScriptedModel):
    """The scripted model, which can be asked over HTTP."""

    def endpoint(self) -> Endpoint:
        """A chat endpoint on loopback that says what the script says; close it."""
        endpoint = Endpoint()

        def answer(request: dict[str, Any], number: int) -> Any:
            call = self.next(request["messages"])
            if call is None:
                return "Done."
            function = {"name": call.name, "arguments": json.dumps(call.arguments)}
            made = {"id": f"call_{number}", "type": "function", "function": function}
            return {"content": None, "tool_calls": [made]}

        endpoint.script = answer
        return endpoint
