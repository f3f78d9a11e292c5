package node

import _ "embed"

// Accounts is the shell prelude, after that of every change, of changes that install or remove packages. Packages make
// users and groups for their daemons and leave them behind when they go, and Debian's purge some of them with
// directories that were there before them.
//
//go:embed accounts.sh
var Accounts string
