// Package server is the REST API of a cluster manager: /api/v1, described by OpenAPI from its types. What it does is
// done by manager, runs and operation; who may, says access, which account answers. The web page is page; listen has
// the certificates and limits of the server, database its one file.
//
// It may import operation and what that stands on; package access stays apart from account, because routes ask it
// without a database. Begin with server.go, then manager.
package server
