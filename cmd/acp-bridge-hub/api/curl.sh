at() { path=$1; shift
  curl -s "$HUB/conversations/my-agent/$path" "$@" \
    -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json'; }
options='[{"label":"SQLite"},{"label":"MySQL"}]'
q='"question":"Which database?","options":'$options
call() { name='"name":"AskUserQuestion"'
  echo '{"id":"'$1'",'$name',"input":{"questions":[{'$q'}]}}'; }
at ask -d "$(call q1)"                    # 202: it is open
at events -N --max-time 1                 # the same as an event
at 'respond?question=q1' -d '{"answers":{"Which database?":"MySQL"}}'
at 'ask?wait=30s' -d "$(call q1)"         # the result
at ask -d "$(call q2)" && at 'cancel?question=q2' -d '{}'
