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

# Each is made before anything is written: a shell goes on when what is within an argument fails.
database=$(openssl rand -hex 24)
redis=$(openssl rand -hex 24)
key=$(openssl rand -hex 32)
vault=$(openssl rand -base64 32)
make database_password "$database"
make redis_password "$redis"
make secret_key "$key"
make vault_keys "k1:$vault"
