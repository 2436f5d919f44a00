# The person at a browser, in place of the command that waits for the code of an app: opens the address that was printed last,
# signs in, allows the app and copies the code.
read() {
    local address origin page
    address=$(grep -o 'http://[^ ]*oauth_authorize[^ ]*' printed.txt | tail -n 1)
    origin=${address%%/-/*}
    browse() { curl -sfL -b cookies -c cookies -H "Origin: $origin" -H "Sec-Fetch-Site: same-origin" "$@"; }
    hidden() { printf %s "$page" | grep -o "name=\"$1\" value=\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4 | sed 's/&amp;/\&/g'; }
    page=$(browse "$address")
    page=$(browse --data-urlencode "csrf=$(hidden csrf)" --data-urlencode "next=$(hidden next)" -d email=ann@example.com \
        --data-urlencode "password=$(sed -n 's/^ *password *//p' demo.txt)" "$origin/-/sign_in")
    page=$(browse --data-urlencode "request=$(hidden request)" --data-urlencode "ticket=$(hidden ticket)" -d decision=allow \
        "$origin/-/oauth_authorize")
    CODE=$(printf %s "$page" | sed -n 's/.*id="code"[^>]*>\([^<]*\)<.*/\1/p')
    test -n "$CODE"
}
