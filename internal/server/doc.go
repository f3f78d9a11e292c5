// Package server is the REST API of a cluster manager: /api/v1, described by OpenAPI from its types. Subpackages
// manager and manager/runs, and package operation, do the work; access defines the rights, account implements them. The
// web page is page; listen has the certificates and limits of the server, database its one file.
//
// It may import operation, phases/pki, run/event and run/scratch; its subpackages have rows of their own in
// internal/testkit/rules. Package access is not part of account because routes use it without a database. Start with
// server.go, then manager.
package server
