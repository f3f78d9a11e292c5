package pool

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/eggo-k8s/eggo/internal/operator/render"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Login is how a machine is logged in to, with its secrets. It is never written to a status, an event or a log.
type Login struct {
	User         string
	Key          []byte // private key; nil: there is none
	Password     string // "": there is none
	SudoPassword string
}

// loginOf reads a Secret with a login.
func loginOf(s *corev1.Secret) (Login, *event.Fault) {
	l, err := render.LoginOf(s)
	if err != nil {
		return Login{}, event.AsFault(err)
	}
	text := func(key string) string { return strings.TrimRight(string(s.Data[key]), "\r\n") }
	out := Login{User: cmp.Or(l.User, "root"), SudoPassword: text(render.FileSudo)}
	if l.Key {
		out.Key = s.Data[render.FileKey]
		return out, nil
	}
	out.Password = text(render.FilePassword)
	out.SudoPassword = cmp.Or(out.SudoPassword, out.Password)
	return out, nil
}
