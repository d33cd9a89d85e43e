#!/bin/sh
# The quickstart with curl and no SDK: ask, print the link, wait, use the token.
#   examples/plain_http.sh [--user ISS SUB]
# ELICIT_URL and ELICIT_API_KEY say where the service is; without them it is the one of `make run`, and the key is the
# demo agent's from var/demo.key. FILES_URL is the provider's API.
set -eu

url=${ELICIT_URL:-http://127.0.0.1:8000}
key=${ELICIT_API_KEY:-$(cat var/demo.key)}
files=${FILES_URL:-http://127.0.0.1:8001/acme/api/files}
iss=http://127.0.0.1:8001 sub=alice
if [ "${1:-}" = --user ]; then iss=$2 sub=$3; fi

# The key goes to curl through a file descriptor: on the command line every user of the machine could read it.
call() { # METHOD PATH [curl's arguments]
    method=$1 path=$2
    shift 2
    printf 'header = "Authorization: Bearer %s"\n' "$key" |
        curl --silent --show-error --fail-with-body --config - \
            --header "Content-Type: application/json" --request "$method" "$url$path" "$@"
}

# One value out of a JSON object on standard input: field result connection
field() {
    python3 -c 'import json, sys
value = json.load(sys.stdin)
for name in sys.argv[1:]:
    value = value[name]
print(value)' "$@"
}

body=$(python3 -c 'import json, sys
print(json.dumps({
    "kind": "oauth", "subject": {"iss": sys.argv[1], "sub": sys.argv[2]},
    "message": "Connect Acme Drive so that I can list your files.",
    "params": {"provider": "acme", "scopes": ["files.read"]}}))' "$iss" "$sub")

# A repeated key asks the same question once more, however often the network loses the answer.
asked=$(call POST /v1/elicitations --data "$body" --header "Idempotency-Key: $(date +%s)-$$" --retry 3) || {
    printf '%s\n' "$asked" >&2 # a refusal says why
    exit 1
}
id=$(printf %s "$asked" | field id)
status=$(printf %s "$asked" | field status)
[ "$status" = completed ] || printf '%s\n' "$(printf %s "$asked" | field url)"

# Each answer comes when something has changed, or after 25 seconds.
while true; do
    case $status in
        pending | started | settling) ;;
        *) break ;;
    esac
    seq=$(printf %s "$asked" | field seq)
    asked=$(call GET "/v1/elicitations/$id?wait=25&after_seq=$seq" --retry 10 --retry-connrefused)
    status=$(printf %s "$asked" | field status)
done
if [ "$status" != completed ]; then
    printf 'No files: the question was %s.\n' "$status"
    exit 1
fi

connection=$(printf %s "$asked" | field result connection)
token=$(call POST "/v1/connections/$connection/token" --data '{}' | field access_token)
printf 'header = "Authorization: Bearer %s"\n' "$token" | curl --silent --show-error --fail-with-body --config - "$files"
printf '\n'
