#!/bin/sh
# Makes the secrets that docker-compose.yml names, in production/secrets, and leaves alone those that are there.
# Nobody but you gets into production/. The files in it are readable, as the user in the containers has another number.
set -eu
cd "$(dirname "$0")/.."
umask 077
mkdir -p production/secrets production/config
chmod 700 production
chmod 755 production/secrets production/config

make() {
    file="production/secrets/$1"
    if [ -e "$file" ]; then
        echo "$file is there already"
    else
        printf '%s' "$2" > "$file.new"
        chmod 644 "$file.new"
        mv "$file.new" "$file"
        echo "$file made"
    fi
}

make database_password "$(openssl rand -hex 24)"
make redis_password "$(openssl rand -hex 24)"
make secret_key "$(openssl rand -hex 32)"
make vault_keys "k1:$(openssl rand -base64 32)"
