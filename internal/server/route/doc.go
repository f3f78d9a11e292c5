// Package route is the one way to the methods of a server's services, for REST and for the web page alike: access is
// checked once, what is asked for is written down, and the method gets the grant. Begin with Route.
//
// It may import access, problem and run/event.
package route
