"""``elicit-flows guard``: guards in front of MCP servers that know nothing of them.

The gateway is a server to its clients and a client to the servers behind it. What a tool needs is in a TOML file. A
call of a guarded tool goes through the same guard as one of ``McpFlows``; all else is passed on as it is. It needs
``mcp`` 2.
"""
