package server

import (
	"cmp"
	"strconv"
	"sync"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
)

// Requests that log in to the nodes while their sender waits: how many of one user, and of all, are answered at the
// same time. A login to a thousand nodes takes memory, and nodes count those that fail. A user has a second one only
// while loginsShared are not reached: the other places are for users who have none.
const (
	loginsOfUser = 2
	loginsShared = 4
	loginsAtOnce = 8
	loginAgain   = 5 // seconds, until it is worth another try
)

// loggingIn is what a request is whose answer may take logins to nodes.
type loggingIn interface{ logsIn() bool }

// logsIn implements loggingIn.
func (*StatusInput) logsIn() bool { return true }

// logsIn implements loggingIn.
func (*InspectInput) logsIn() bool { return true }

// logsIn implements loggingIn.
func (i *CertificatesInput) logsIn() bool { return i.Nodes }

// logsIn implements loggingIn.
func (*CheckInput) logsIn() bool { return true }

// logsIn implements loggingIn.
func (*PlanInput) logsIn() bool { return true }

// logins counts such requests.
type logins struct {
	mu  sync.Mutex
	of  map[string]int // by the ID of the user: those that are being answered
	all int
}

// enter lets a request in until leave is called, or refuses it: a queue would be as long as somebody likes.
func (l *logins) enter(who access.Caller) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := cmp.Or(who.ID, who.Name)
	if l.of[id] >= loginsOfUser || l.of[id] > 0 && l.all >= loginsShared || l.all >= loginsAtOnce {
		return nil, event.NewFault(event.ClassLocked, "api.busy", nil, "own", strconv.Itoa(loginsOfUser),
			"shared", strconv.Itoa(loginsShared), "all", strconv.Itoa(loginsAtOnce),
			"seconds", strconv.Itoa(loginAgain))
	}
	if l.of == nil {
		l.of = map[string]int{}
	}
	l.of[id]++
	l.all++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all--
		if l.of[id]--; l.of[id] == 0 {
			delete(l.of, id)
		}
	}, nil
}
