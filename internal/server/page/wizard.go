package page

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// wizard is a form whose rules are the server's. The script of the page asks what is wrong while something is typed,
// and sends the form when nothing is. Without the script, the buttons of the form do the same: they are called do.
type wizard struct {
	may   access.Action // what its reader has to be allowed: with the cluster of the address, or with all
	show  func(v *visit, s sheet, status int) error
	draft func(v *visit) (checkedForm, error)
	check func(v *visit) (string, error) // gives a piece of the page
	send  func(v *visit) (string, error) // gives the address of what came of it
}

// form reads what was sent, which may have taken long: it does not count if the reader has been logged out meanwhile.
func (v *visit) form() (url.Values, error) {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, mostForm)
	if err := v.r.ParseForm(); err != nil {
		return nil, malformed(err)
	}
	return v.r.PostForm, v.by.Recheck(v.r.Context())
}

// allow refuses a reader who may not do something with the cluster that the address names, or with all of them. What
// the service is called for, it checks itself.
func (v *visit) allow(a access.Action) error {
	_, err := access.Allow(v.r.Context(), v.by, a, v.r.PathValue("cluster"))
	return err
}

// opened is the form before anything is typed.
func (p *Page) opened(w wizard) func(*visit) error {
	return func(v *visit) error {
		if err := v.allow(w.may); err != nil {
			return err
		}
		return w.show(v, sheet{p: v.p}, http.StatusOK)
	}
}

// checkedDraft returns what is wrong with a form, to a reader who may send it.
func (v *visit) checkedDraft(w wizard) (checkedForm, error) {
	if _, err := v.form(); err != nil {
		return checkedForm{}, err
	}
	if err := v.allow(w.may); err != nil {
		return checkedForm{}, err
	}
	return w.draft(v)
}

// drafted answers the script.
func (p *Page) drafted(w wizard) func(*visit) error {
	return func(v *visit) error {
		out, err := v.checkedDraft(w)
		if err != nil {
			return err
		}
		return v.answer(out)
	}
}

// looked answers the script with what a check found.
func (p *Page) looked(w wizard) func(*visit) error {
	return func(v *visit) error {
		html, err := w.check(v)
		if err != nil {
			return err
		}
		return v.answer(map[string]string{"html": html})
	}
}

// sent takes the form, of the script or of a button.
func (p *Page) sent(w wizard) func(*visit) error {
	return func(v *visit) error {
		q, err := v.form()
		if err != nil {
			return err
		}
		if q.Has("do") {
			return p.pressed(v, w, q)
		}
		to, err := w.send(v)
		if err != nil {
			return err
		}
		return v.answer(map[string]string{"go": to})
	}
}

// pressed does what a button says, where there is no script.
func (p *Page) pressed(v *visit, w wizard, q url.Values) error {
	out, err := v.checkedDraft(w)
	if err != nil {
		return err
	}
	for _, line := range q["accept"] { // it becomes a line of its field
		q.Set("known_hosts", ended(q.Get("known_hosts"))+line)
	}
	s := sheet{p: v.p, values: q, Wrong: out.Wrong, Count: out.Count, Notes: out.Notes, OK: out.OK, ETag: q.Get("etag"),
		Table: template.HTML(out.Nodes)}
	status, do := http.StatusOK, q.Get("do")
	switch kind, more := strings.CutPrefix(do, "more:"); {
	case more:
		s.more = kind
	case !out.OK:
		status = http.StatusUnprocessableEntity
	case do == "check" && w.check != nil:
		html, err := w.check(v)
		if status, err = p.refused(v, &s, err); err != nil {
			return err
		}
		s.Answer += template.HTML(html)
	case do == "send" && out.Name != "" && q.Get("confirm") != out.Name:
		s.Wrong, status = append(s.Wrong, wrong{Field: "confirm", Text: out.Ask}), http.StatusUnprocessableEntity
	case do == "send":
		to, err := w.send(v)
		if status, err = p.refused(v, &s, err); err != nil {
			return err
		}
		if to != "" {
			http.Redirect(v.w, v.r, to, http.StatusSeeOther)
			return nil
		}
	}
	if secrets(q) {
		s.Notes = append(s.Notes, v.p.T("page.again"))
	}
	return w.show(v, s, status)
}

// refused has a form show why the API refused it.
func (p *Page) refused(v *visit, s *sheet, err error) (int, error) {
	var r *refusal
	if err == nil || !errors.As(err, &r) {
		return http.StatusOK, err
	}
	s.Wrong, s.OK = append(s.Wrong, r.Wrong...), false
	html, err := p.piece(v.lang, "problem", r.Problem)
	s.Answer = template.HTML(html)
	return r.Status, err
}

// secrets says whether a form has one, which is not sent back.
func secrets(q url.Values) bool {
	for name := range q {
		if isSecret(name) && q.Get(name) != "" {
			return true
		}
	}
	return false
}

// isSecret says whether a field has a secret.
func isSecret(name string) bool {
	switch name {
	case "key", "password", "sudo_password", "passphrase", "identity":
		return true
	}
	return strings.HasPrefix(name, "secret:") || strings.HasSuffix(name, ":password") ||
		strings.HasSuffix(name, ":sudo")
}

// refusal is why the API refused a form, and which of its fields that is about.
type refusal struct {
	*problem.Problem
	Wrong []wrong `json:"wrong,omitempty"`
}

// refuse says why the API refused a form, and which of its fields that is about: by the part of the request, or by the
// code.
func (v *visit) refuse(t typed, err error, fields map[string]string) error {
	if r := (*refusal)(nil); errors.As(err, &r) { // it could not be read
		return err
	}
	said := *problem.Of(v.p, err)
	said.Next = advice(v.p, said.Code, said.Next)
	out := &refusal{Problem: &said}
	if at := fields[said.Code]; at != "" {
		out.Wrong = append(out.Wrong, wrong{at, said.Detail, said.Next})
	}
	for _, e := range said.Errors {
		out.Wrong = append(out.Wrong, wrong{t.fieldAt(e.Location), e.Detail, e.Next})
	}
	return out
}

// sound refuses what could not be read: without it the request would be another one.
func (v *visit) sound(t typed) error {
	out := append(problem.All{}, t.bad...)
	for _, f := range t.lines(v.p) {
		out = append(out, problem.At{Location: "body.nodes", Fault: f})
	}
	if len(out) == 0 {
		return nil
	}
	return v.refuse(t, out, nil)
}

// malformed is the fault of a form that cannot be read.
func malformed(err error) error {
	return event.NewFault(event.ClassUsage, "api.request", nil, "why", event.Clean(err.Error()))
}
