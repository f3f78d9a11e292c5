// Package upstream is the Internet of the lab: what a bundle builder downloads, made from real sources and served on
// loopback under upstream's own paths and names, for exactly the URLs and images of a bundle spec. README.md says what
// is made from what and where it differs from what upstream publishes.
//
// Build makes all of it, once, in a cache directory; Serve answers for it over HTTP; Mirrors says how a builder is
// pointed at it.
package upstream
