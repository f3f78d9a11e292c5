// Package route is the one way to the methods of a server's services, for REST and for the web page alike: access is
// checked once, the request is audited, and the method gets the grant. Start with Route.
//
// It may import access, problem and run/event.
package route
