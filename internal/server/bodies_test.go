package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
)

// sending is a body of which the server has read so much.
type sending struct {
	io.Reader
	read atomic.Int64
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.read.Add(int64(n))
	return n, err
}

// sent is a request as a client sends it; length -1: it does not announce how long its body is.
func sent(as []string, method, path string, body io.Reader, length int64) *http.Request {
	q := httptest.NewRequest(method, path, body)
	q.ContentLength = length
	q.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(as); i += 2 {
		q.Header.Set(as[i], as[i+1])
	}
	return q
}

// asAnn are the headers of an administrator where users need no password.
func asAnn() []string { return []string{"Authorization", "Bearer ann"} }

// Of a request without credentials, no more is read than a login takes, and nothing where credentials are needed.
func TestBodiesWithoutCredentials(t *testing.T) {
	g := beginGuarded(t)
	name := strings.Repeat("x", 2<<20)
	for _, c := range []struct {
		method, path string
		status       int
		code         string
		most         int64 // bytes that are read
	}{
		{"POST", "/api/v1/login", 413, "listen.too-large", openBody + 1},
		{"POST", "/api/v1/setup", 413, "listen.too-large", openBody + 1},
		{"POST", "/api/v1/clusters", 401, "access.unauthenticated", 0},
		{"PUT", "/api/v1/clusters/one", 401, "access.unauthenticated", 0},
		{"POST", "/api/v1/users", 401, "access.unauthenticated", 0},
		{"GET", "/api/v1/clusters", 401, "access.unauthenticated", 0},
		{"POST", "/api/v1/nothing", 404, "api.no-route", 0},
		{"PUT", "/api/v1/clusters", 405, "api.method", 0},
	} {
		for _, length := range []int64{2 << 20, -1} {
			body := &sending{Reader: strings.NewReader(`{"name":"` + name + `"}`)}
			w := httptest.NewRecorder()
			g.handler.ServeHTTP(w, sent(nil, c.method, c.path, body, length))
			if w.Code != c.status || !strings.Contains(w.Body.String(), `"`+c.code+`"`) {
				t.Errorf("%s %s, %d announced: %d %s", c.method, c.path, length, w.Code, w.Body)
			}
			if n := body.read.Load(); n > c.most {
				t.Errorf("%s %s, %d announced: %d bytes were read", c.method, c.path, length, n)
			}
		}
	}
}

// Each route reads as much as its largest request needs.
func TestTheLimitOfARoute(t *testing.T) {
	s := begin(t)
	for _, c := range []struct {
		method, path string
		most         int
	}{
		{"POST", "/api/v1/clusters", maxBody}, {"PUT", "/api/v1/clusters/one", maxBody},
		{"POST", "/api/v1/check", maxBody},
		{"POST", "/api/v1/clusters:import", maxBody}, {"POST", "/api/v1/clusters/one/plan", maxBody},
		{"POST", "/api/v1/clusters/one/renew", usualBody}, {"POST", "/api/v1/clusters/one/upgrade", usualBody},
		{"POST", "/api/v1/clusters/one/kubeconfig", usualBody}, {"POST", "/api/v1/clusters/one/cancel", openBody},
		{"DELETE", "/api/v1/clusters/one", openBody}, {"GET", "/api/v1/clusters", openBody},
	} {
		for length, refused := range map[int]bool{c.most: false, c.most + 1: true} {
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, sent(asAnn(), c.method, c.path, strings.NewReader(strings.Repeat(" ", length)), -1))
			if (w.Code == http.StatusRequestEntityTooLarge) != refused {
				t.Errorf("%s %s with %d bytes: %d %s", c.method, c.path, length, w.Code, w.Body)
			}
			if said := bytesSaid(int64(c.most)); refused && !strings.Contains(w.Body.String(), said) {
				t.Errorf("no %s in %s", said, w.Body)
			}
		}
	}
}

// slow is a body that does not end until it may.
type slow struct {
	begun chan<- int
	until <-chan struct{}
}

func (s slow) Read([]byte) (int, error) {
	select {
	case <-s.until:
		return 0, io.EOF
	default:
	}
	s.begun <- 0
	<-s.until
	return 0, io.EOF
}

// Three hundred bodies that do not end are held within a budget: those that it has no room for are refused at once, and
// may be sent again. Another user has room, and so have those who log in.
func TestTheBodiesThatAreHeldAreBounded(t *testing.T) {
	g := beginGuarded(t)
	const size = 1 << 20
	event, until := make(chan int), make(chan struct{})
	as := map[string][]string{"": nil}
	for _, who := range []string{"global", "viewer", "operator"} {
		as[who] = g.as(who)
	}
	send := func(who, path string, length int64) {
		w := httptest.NewRecorder()
		g.handler.ServeHTTP(w, sent(as[who], "POST", path, slow{event, until}, length))
		if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != strconv.Itoa(bodiesAgain) {
			t.Error(w.Header())
		}
		event <- w.Code
	}
	// count sends requests at once, and gives how many are being read, and how many were refused.
	count := func(n int, who, path string, length int64) (reading, refused int) {
		for range n {
			go send(who, path, length)
		}
		for range n {
			switch code := <-event; code {
			case 0:
				reading++
			case http.StatusTooManyRequests:
				refused++
			default:
				t.Error(who, path, code)
			}
		}
		return reading, refused
	}
	open := 0
	for _, c := range []struct {
		n         int
		who, path string
		length    int64
		most      int
	}{
		{300, "global", "/api/v1/clusters", size, budgetOfUser / size},
		{300, "viewer", "/api/v1/clusters/one/plan", -1, budgetOfUser / maxBody},
		{300, "operator", "/api/v1/clusters/one/renew", usualBody, budgetOfUser / usualBody},
		{300, "", "/api/v1/login", openBody, openBudgetOfNetwork / openBody},
	} {
		reading, refused := count(c.n, c.who, c.path, c.length)
		if reading != c.most || refused != c.n-c.most {
			t.Errorf("%s of %q: %d are read, %d refused; want %d", c.path, c.who, reading, refused, c.most)
		}
		open += reading
	}
	close(until)
	for range open {
		<-event
	}
	go send("global", "/api/v1/clusters", size) // what is over makes room
	if code := <-event; code != http.StatusBadRequest {
		t.Error(code)
	}
}

// A body with more values than a request has is refused for that, and costs what it takes to read it once: it is not
// decoded, not validated, and no places in it are looked for.
func TestTheWorstBodies(t *testing.T) {
	s := begin(t)
	many := func(value string) string {
		n := (maxBody - 100) / (len(value) + 1)
		return `{"name":"x","nodes":[` + strings.Repeat(value+",", n-1) + value + `]}`
	}
	for what, body := range map[string]string{
		"objects with dots":  many(`{"a.b":[1]}`),
		"brackets":           many(`[]`),
		"numbers":            many(`1`),
		"nodes of no fields": many(`{}`),
		"deep":               strings.Repeat(`[`, 1<<20) + strings.Repeat(`]`, 1<<20-100),
		"deep objects":       strings.Repeat(`{"a":`, 300_000),
	} {
		steps := testing.AllocsPerRun(1, func() {
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, sent(asAnn(), "POST", "/api/v1/clusters", strings.NewReader(body), int64(len(body))))
			if w.Code != 413 || !strings.Contains(w.Body.String(), `"api.values"`) {
				t.Errorf("%s: %d %.300s", what, w.Code, w.Body)
			}
		})
		if steps > 2000 {
			t.Errorf("%s: %.0f allocations", what, steps)
		}
	}
	// What may be decoded: as many errors as it has are counted, and a part of them is listed.
	body := `{"name":"x","nodes":[` + strings.Repeat(`{"a.b":1},`, 20_000) + `{}]}`
	a := s.want(s.call("ann", "POST", "/api/v1/clusters", body), 422, "api.request")
	if list, _ := a.body["errors"].([]any); len(list) != 100 || len(a.text) > 64<<10 {
		t.Errorf("%d errors, %d bytes", len(list), len(a.text))
	}
}

// What a body may have in it is counted as JSON has it: text is text.
func TestValuesOfABody(t *testing.T) {
	commas := strings.Repeat(`,[{\"\\`, mostValues)
	for text, good := range map[string]bool{
		``: true, `{}`: true, `"` + commas + `"`: true, `{"a":"` + commas + `\\"}`: true,
		`["` + commas + `",` + strings.Repeat("0,", mostValues) + `0]`:             false,
		strings.Repeat("[", mostDepth) + strings.Repeat("]", mostDepth):            true,
		strings.Repeat("[", mostDepth+1):                                           false,
		"[" + strings.Repeat("0,", mostValues-3) + "0]":                            true,
		strings.Repeat("[],", mostValues/2-1):                                      true,
		`"\`:                                                                       true,
		strings.Repeat(`{"a":{"b":{}}},`, 1000) + strings.Repeat("]", mostDepth*2): true,
	} {
		if err := bounded([]byte(text)); (err == nil) != good {
			t.Errorf("%.40s… (%d bytes): %v", text, len(text), err)
		}
	}
}

// Few large bodies are decoded at a time. The turn ends where the route begins, however long that takes.
func TestLargeBodiesAreDecodedByTurns(t *testing.T) {
	large := `{"name":"` + strings.Repeat("x", 2*largeBody) + `"}`
	b := &bodies{turns: make(chan struct{}, decodedAtOnce)}
	inside, leave, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h := b.decoding(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		inside <- struct{}{}
		<-leave
	}))
	send := func(path, body string) {
		h.ServeHTTP(httptest.NewRecorder(), sent(nil, "POST", path, strings.NewReader(body), int64(len(body))))
		done <- struct{}{}
	}
	for range decodedAtOnce + 1 {
		go send("/api/v1/clusters", large)
	}
	for range decodedAtOnce {
		<-inside
	}
	go send("/api/v1/clusters", `{}`) // small ones do not wait
	<-inside
	go send("/new", large) // nor does the page, whose requests to the API do
	<-inside
	select {
	case <-inside:
		t.Error("all are decoded at once")
	default:
	}
	leave <- struct{}{}
	<-done
	for range 3 {
		select {
		case <-inside:
		case leave <- struct{}{}:
		}
	}
}

// Slow bodies of one network of IPv6 keep no other network from logging in, those that come through a proxy on this
// host not each other, and those of an API token not the sessions of its user.
func TestWhoseBodiesAreCountedTogether(t *testing.T) {
	ann, token := access.Caller{ID: "ann"}, access.Caller{ID: "ann", Token: "t1"}
	for _, c := range []struct {
		what, a, b string
		x, y       access.Caller
		together   bool
	}{
		{what: "one network of IPv6", a: "[2001:db8::1]:1", b: "[2001:db8::2]:1", together: true},
		{what: "two networks", a: "[2001:db8::1]:1", b: "[2001:db8:0:1::1]:1"},
		{what: "one address", a: "192.0.2.1:1", b: "[::ffff:192.0.2.1]:2", together: true},
		{what: "two addresses", a: "192.0.2.1:1", b: "192.0.2.2:1"},
		{what: "a proxy on this host", a: "127.0.0.1:1", b: "127.0.0.1:2"},
		{what: "the same on IPv6", a: "[::1]:1", b: "[::1]:2"},
		{what: "two sessions", a: "192.0.2.1:1", b: "192.0.2.2:1", x: ann, y: ann, together: true},
		{what: "an API token and a session", a: "192.0.2.1:1", b: "192.0.2.1:1", x: token, y: ann},
		{what: "two API tokens", a: "192.0.2.1:1", b: "192.0.2.1:1", x: token, y: access.Caller{ID: "ann", Token: "t2"},
			together: true},
	} {
		b := &bodies{known: newBudget(2, 1), open: newBudget(2, 1)}
		take := func(from string, who access.Caller) error {
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			r = r.WithContext(context.WithValue(r.Context(), addressKey{}, from))
			_, err := b.take(r, who, who.ID != "", 1)
			return err
		}
		if err := take(c.a, c.x); err != nil {
			t.Error(c.what, err)
		}
		if err := take(c.b, c.y); (err != nil) != c.together {
			t.Error(c.what, err)
		}
	}
}

// dated is a response whose request has a time limit.
type dated struct {
	*httptest.ResponseRecorder
	until []time.Time
}

// SetReadDeadline is for http.ResponseController.
func (d *dated) SetReadDeadline(at time.Time) error {
	d.until = append(d.until, at)
	return nil
}

// A body without credentials is a few bytes, and is not waited for as long as that of a user.
func TestABodyWithoutCredentialsHasLittleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := beginGuarded(t)
		for path, c := range map[string]struct {
			as     []string
			within time.Duration
		}{"/api/v1/login": {nil, openIn}, "/login": {nil, openIn}, "/api/v1/clusters": {g.as("global"), readIn}} {
			w := &dated{ResponseRecorder: httptest.NewRecorder()}
			g.handler.ServeHTTP(w, sent(c.as, "POST", path, strings.NewReader("{}"), 2))
			if len(w.until) == 0 || time.Until(w.until[0]) != c.within {
				t.Errorf("%s: %v", path, w.until)
			}
		}
	})
}

// Users who send as much as they can leave others what they need: the first large body of each of some, and usual ones
// of many.
func TestFewSendersLeaveEnough(t *testing.T) {
	b := newBudget(budgetOfAll, budgetOfUser)
	greedy := func(sender string, size int64) (held int64) {
		for {
			if _, err := b.take(sender, size); err != nil {
				return held
			}
			held += size
		}
	}
	for _, sender := range []string{"a", "a token", "b", "b token"} {
		if got := greedy(sender, maxBody); got != budgetOfUser {
			t.Errorf("%s holds %d", sender, got)
		}
	}
	for _, sender := range []string{"c", "c token", "d", "d token", "e", "e token", "f", "f token"} {
		if got := greedy(sender, maxBody); got < maxBody {
			t.Errorf("%s holds %d", sender, got)
		}
	}
	b = newBudget(openBudget, openBudgetOfNetwork)
	for i := range 20 {
		if greedy(strconv.Itoa(i), openBody); b.held == b.all {
			t.Errorf("%d networks have taken all", i+1)
			break
		}
	}
	if _, err := b.take("another", openBody); err != nil {
		t.Error(err)
	}
}
