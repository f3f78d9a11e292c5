package page

import (
	"net/http"

	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/access"
)

// fragment sends a part of a page that a script puts in place.
func (p *Page) fragment(v *visit, name string, data any) error {
	html, err := p.piece(v.lang, name, data)
	if err != nil {
		return err
	}
	return v.answer(map[string]any{"html": html})
}

// secrets returns the passwords of the nodes in a form, as an input of the service; nil: the page has no form.
func (v *visit) secrets() (*server.InspectInput, error) {
	if v.r.Method == http.MethodGet {
		return nil, nil
	}
	q, err := v.form()
	if err != nil {
		return nil, err
	}
	in := &server.InspectInput{InCluster: v.cluster()}
	in.Body.Secrets = secretsOf(q)
	return in, nil
}

// certificates are listed when they are asked for: with those of the nodes that takes seconds.
func (p *Page) certificates(v *visit) error {
	with, err := v.secrets()
	if err != nil {
		return err
	}
	if with != nil {
		list, err := p.api.InspectCertificates.Call(v.context(), with)
		if err != nil {
			return err
		}
		return p.fragment(v, "certificates", list.Body)
	}
	list, err := p.api.ListCertificates.Call(v.context(), &server.CertificatesInput{InCluster: v.cluster(),
		Nodes: v.r.URL.Query().Get("nodes") != ""})
	if err != nil {
		return err
	}
	return p.fragment(v, "certificates", list.Body)
}

// status inspects a cluster when it is asked for.
func (p *Page) status(v *visit) error {
	with, err := v.secrets()
	if err != nil {
		return err
	}
	if with != nil {
		st, err := p.api.InspectStatus.Call(v.context(), with)
		if err != nil {
			return err
		}
		return p.fragment(v, "status", st.Body)
	}
	st, err := p.api.GetStatus.Call(v.context(), &server.StatusInput{InCluster: v.cluster()})
	if err != nil {
		return err
	}
	return p.fragment(v, "status", st.Body)
}

// history lists what a cluster was last.
func (p *Page) history(v *visit) error {
	list, err := p.api.ListHealth.Call(v.context(), &server.HealthInput{InCluster: v.cluster(), Limit: 50})
	if err != nil {
		return err
	}
	return p.fragment(v, "health-history", list.Body)
}

// verified verifies a backup.
func (p *Page) verified(v *visit) error {
	q, err := v.form()
	if err != nil {
		return err
	}
	in := &server.VerifyInput{BackupPath: v.backup()}
	in.Body.BackupKey = server.BackupKey{Passphrase: q.Get("passphrase"), Identity: q.Get("identity")}
	res, err := p.api.VerifyBackup.Call(v.context(), in)
	if err != nil {
		return err
	}
	return p.fragment(v, "verified", res.Body)
}

// backup returns the backup that the address of the page names.
func (v *visit) backup() server.BackupPath {
	return server.BackupPath{InCluster: v.cluster(), Backup: v.r.PathValue("backup")}
}

// importing is the page on which a cluster is taken over.
func (p *Page) importing(v *visit) error {
	if err := v.allow(access.Administer); err != nil {
		return err
	}
	p.render(v, http.StatusOK, "import", v.p.T("page.import"), nil)
	return nil
}
