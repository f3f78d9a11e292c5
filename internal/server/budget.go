package server

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
	"github.com/eggo-k8s/eggo/internal/server/route"
)

// How much of bodies is held at the same time: of all users and of one, and of requests without credentials, of all and
// of those of one network. The latter are as many as there may be connections, so that slow ones do not keep others
// from logging in. A decoded body takes many times its size, so few large ones are decoded at once.
const (
	budgetOfAll         = 32 << 20
	budgetOfUser        = 4 << 20
	openBudget          = 8 << 20
	openBudgetOfNetwork = 1 << 20
	ofTheRest           = 4 // what remains for others is so many times what one sender has
	bodiesAgain         = 5 // seconds, until it is worth another try

	decodedAtOnce = 2
	largeBody     = 64 << 10
)

// What a body may hold. A thousand nodes, each with its labels, taints and host keys, are less than that, and what is
// refused is neither decoded nor validated: each value would take memory, and might be an error of its own.
const (
	mostValues = 100_000
	mostDepth  = 32
)

// budget counts bytes that are held.
type budget struct {
	all, own int64 // the most, together and for one sender

	mu   sync.Mutex
	held int64
	of   map[string]int64 // by sender
}

func newBudget(all, own int64) *budget { return &budget{all: all, own: own, of: map[string]int64{}} }

// take accounts for some bytes of a sender until free is called, or refuses them: a queue would hold connections. A
// sender of whom something is held gets more only if four times what it has then remains free, so that few senders do
// not take what all others need. The sender "" counts only together with all others.
func (b *budget) take(sender string, n int64) (free func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	had, rest := b.of[sender], b.all-b.held-n
	if rest < 0 || sender != "" && (had+n > b.own || had > 0 && (had+n)*ofTheRest > rest) {
		return nil, event.NewFault(event.ClassLocked, "api.bodies", nil, "seconds", strconv.Itoa(bodiesAgain))
	}
	b.held += n
	b.of[sender] += n
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.held -= n
		if b.of[sender] -= n; b.of[sender] <= 0 {
			delete(b.of, sender)
		}
	}), nil
}

// senderOf returns whose budget a body is of: a user's, with sessions or with API tokens, so that a token that leaked
// does not take that of its user; without credentials a network's. A proxy on this host has the requests of all.
func senderOf(r *http.Request, who access.Caller, known bool) string {
	switch from := address(r.Context()); {
	case known && who.Token != "":
		return who.ID + " token"
	case known:
		return who.ID
	case net.ParseIP(from).IsLoopback():
		return ""
	default:
		return access.Network(from)
	}
}

// bounded refuses a body with more values, or deeper ones, than a request can have. It reads it once, and keeps
// nothing.
func bounded(text []byte) error {
	values, depth, quoted := 1, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			values++
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
		if values > mostValues || depth > mostDepth {
			return event.NewFault(event.ClassUsage, "api.values", nil, "values", strconv.Itoa(mostValues),
				"depth", strconv.Itoa(mostDepth))
		}
	}
	return nil
}

// decoding wraps the API: few large bodies are decoded at the same time, and the others wait for their turn. It ends
// where the route has its request (problem.Handler), which may take long to answer it.
func (b *bodies) decoding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength <= largeBody || !strings.HasPrefix(r.URL.Path, "/api/") {
			next.ServeHTTP(w, r)
			return
		}
		over, err := b.turn(r.Context(), int(r.ContentLength))
		if err != nil {
			return
		}
		defer over()
		next.ServeHTTP(w, r.WithContext(problem.Decoding(r.Context(), over)))
	})
}

// turn waits until a body of some size may be decoded.
func (b *bodies) turn(ctx context.Context, size int) (over func(), err error) {
	if size <= largeBody {
		return func() {}, nil
	}
	select {
	case b.turns <- struct{}{}:
		return sync.OnceFunc(func() { <-b.turns }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// turning wraps the page: the inputs that it makes of large forms wait for their turn, too.
func (b *bodies) turning(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(route.WithTurns(r.Context(), b.turn)))
	})
}
