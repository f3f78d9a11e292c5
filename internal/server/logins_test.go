package server

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
)

// Whoever sends one request after the other that logs in to nodes has two of them answered at a time; others have
// theirs, and what logs in to no node is answered. What is refused is not written down: it has done nothing.
func TestRequestsThatLogInAreBounded(t *testing.T) {
	var held atomic.Bool
	inside, leave := make(chan struct{}), make(chan struct{})
	s := begin(t, func(o *Options) {
		d := o.Deps()
		d.Dialer, d.Clock = nowhere{}, operationtest.Swift{}
		o.Deps = func() operation.Deps {
			if held.Load() {
				inside <- struct{}{}
				<-leave
			}
			return d
		}
	})
	s.running()
	s.installed()
	held.Store(true)
	answers := make(chan int, loginsOfUser)
	for _, method := range []string{"GET", "POST"} {
		body := map[string]string{"POST": `{"secrets":{"password":"x"}}`}[method]
		go func() { answers <- s.call("vera", method, "/api/v1/clusters/one/status", body).status }()
		<-inside
	}
	written := func() int {
		s.rights.mu.Lock()
		defer s.rights.mu.Unlock()
		return len(s.rights.entries)
	}
	before := written()
	for _, c := range []struct{ who, method, path, body string }{
		{"vera", "GET", "/clusters/one/status", ""},
		{"vera", "POST", "/clusters/one/status", `{"secrets":{"password":"y"}}`},
		{"vera", "POST", "/clusters/one/certificates", `{}`},
		{"vera", "GET", "/clusters/one/certificates?nodes=true", ""},
	} {
		a := s.want(s.call(c.who, c.method, "/api/v1"+c.path, c.body), 429, "api.busy")
		if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 {
			t.Errorf("%s: Retry-After is %q", c.path, a.header.Get("Retry-After"))
		}
	}
	if n := written(); n != before {
		t.Errorf("%d requests are written down that were not even tried", n-before)
	}
	s.want(s.call("", "POST", "/api/v1/clusters/one/status", `{}`), 401, "access.unauthenticated")
	s.want(s.call("vera", "GET", "/api/v1/clusters/one", ""), 200, "")
	go func() { answers <- s.call("otto", "POST", "/api/v1/clusters/one/plan", `{}`).status }()
	<-inside
	held.Store(false)
	close(leave)
	for range loginsOfUser + 1 {
		if got := <-answers; got != 200 {
			t.Error(got)
		}
	}
	s.want(s.call("vera", "GET", "/api/v1/clusters/one/status", ""), 200, "")
	if text := s.call("", "GET", Prefix+"/openapi.json", "").text; !strings.Contains(text, "api.busy") {
		t.Error("the document does not mention it")
	}
}

// A few users do not take the places of all others.
func TestLoginsOfFewUsers(t *testing.T) {
	var l logins
	for _, user := range []string{"a", "a", "a", "b", "b", "b", "c", "c", "c"} {
		_, _ = l.enter(access.Caller{ID: user})
	}
	if l.of["a"] != loginsOfUser || l.of["b"] != loginsOfUser || l.of["c"] != 1 {
		t.Error(l.of)
	}
	if _, err := l.enter(access.Caller{ID: "d"}); err != nil {
		t.Error("there is no place for another one:", err)
	}
}

// All users together have a bound, too, and what has ended makes room.
func TestLoginsOfAll(t *testing.T) {
	var l logins
	var leave []func()
	for i := range loginsAtOnce {
		out, err := l.enter(access.Caller{ID: strconv.Itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, out)
	}
	if _, err := l.enter(access.Caller{ID: "another"}); err == nil {
		t.Error("one too many")
	}
	leave[0]()
	out, err := l.enter(access.Caller{ID: "another"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(leave[1:], out) {
		f()
	}
	if l.all != 0 || len(l.of) != 0 {
		t.Errorf("%d %v", l.all, l.of)
	}
}
