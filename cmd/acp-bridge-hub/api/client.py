import json, os, urllib.request
token = "Bearer " + os.environ["TOKEN"]
headers = {"Authorization": token, "Content-Type": "application/json"}
def at(path, post={}):
    url = os.environ["HUB"] + "/conversations/my-agent/" + path
    data = None if post is None else json.dumps(post).encode()
    return urllib.request.urlopen(urllib.request.Request(url, data, headers))
options = [{"label": "SQLite"}, {"label": "MySQL"}]
q = {"question": "Which database?", "options": options}
call = {"id": "q1", "name": "AskUserQuestion", "input": {"questions": [q]}}
print(json.load(at("ask", call)))             # 202: it is open
with at("events", None) as events:
    print([next(events) for _ in range(5)])   # the same as an event
at("respond?question=q1", {"answers": {"Which database?": "MySQL"}})
print(json.load(at("ask?wait=30s", call)))    # the result
at("ask", {**call, "id": "q2"})
at("cancel?question=q2")
