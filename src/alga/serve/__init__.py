"""Networks in the browser: an HTTP API with a page (`alga serve`), or the same page as one file (`alga export`).

`server.py` runs uvicorn, `app.py` has the routes, `middleware.py` and `connection.py` enforce `limits.py`, and
`workers.py` computes in a bounded thread pool. Nothing is imported here: FastAPI and uvicorn are an optional extra.
"""
