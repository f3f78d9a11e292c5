package page

import (
	"net/http"

	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// fragment sends a part of a page that a script puts in place.
func (p *Page) fragment(v *visit, name string, data any) error {
	html, err := p.piece(v.lang, name, data)
	if err != nil {
		return err
	}
	return v.answer(map[string]any{"html": html})
}

// inspect asks the API about the nodes of a cluster: with the passwords of the request, if it has any.
func (p *Page) inspect(v *visit, path string, into any) error {
	path = in(v.r.PathValue("cluster"), path)
	if v.r.Method == http.MethodGet {
		return p.get(v, path, into)
	}
	q, err := v.form()
	if err != nil {
		return err
	}
	return p.call(v, http.MethodPost, path, map[string]any{"secrets": secretsOf(q)}, into)
}

// certificates are listed when they are asked for: with those of the nodes that takes seconds.
func (p *Page) certificates(v *visit) error {
	path := "/certificates"
	if v.r.Method == http.MethodGet && v.r.URL.Query().Get("nodes") != "" {
		path += "?nodes=true"
	}
	var list problem.List[server.Certificate]
	if err := p.inspect(v, path, &list); err != nil {
		return err
	}
	return p.fragment(v, "certificates", list)
}

// health is how the parts of a cluster are.
type health struct {
	Healthy bool          `json:"healthy"`
	Drift   []string      `json:"drift"`
	Unknown *server.Fault `json:"unknown"`
	Nodes   []struct {
		server.StatusNode
		Components []component `json:"components"`
	} `json:"nodes"`
	Etcd []struct {
		Node    string   `json:"node"`
		Healthy bool     `json:"healthy"`
		Leader  bool     `json:"leader"`
		Learner bool     `json:"learner"`
		Version string   `json:"version"`
		DBBytes int64    `json:"db_bytes"`
		Alarms  []string `json:"alarms"`
		Error   string   `json:"error"`
	} `json:"etcd"`
	Loads []struct {
		Kind  string `json:"kind"`
		Name  string `json:"name"`
		Ready int32  `json:"ready"`
		Want  int32  `json:"want"`
	} `json:"workloads"`
}

// component of a node.
type component struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Version string `json:"version"`
}

// status inspects a cluster when it is asked for.
func (p *Page) status(v *visit) error {
	var h health
	if err := p.inspect(v, "/status", &h); err != nil {
		return err
	}
	return p.fragment(v, "status", h)
}

// history lists what a cluster was last.
func (p *Page) history(v *visit) error {
	var h problem.List[server.Health]
	if err := p.get(v, in(v.r.PathValue("cluster"), "/health/history?limit=50"), &h); err != nil {
		return err
	}
	return p.fragment(v, "health-history", h)
}

// verifiedBackup is what was found in a backup.
type verifiedBackup struct {
	Revision int64         `json:"revision"`
	Files    int           `json:"files"`
	Keys     int64         `json:"keys"`
	Etcd     bool          `json:"etcd"`
	Why      *server.Fault `json:"why"`
}

// verified verifies a backup.
func (p *Page) verified(v *visit) error {
	q, err := v.form()
	if err != nil {
		return err
	}
	key := server.BackupKey{Passphrase: q.Get("passphrase"), Identity: q.Get("identity")}
	var res verifiedBackup
	path := in(v.r.PathValue("cluster"), "/backups/"+escaped(v.r.PathValue("backup"))+"/verify")
	if err := p.call(v, http.MethodPost, path, key, &res); err != nil {
		return err
	}
	return p.fragment(v, "verified", res)
}

// importing is the page on which a cluster is taken over.
func (p *Page) importing(v *visit) error {
	if _, err := access.Check(v.r.Context(), p.Access, access.Administer, ""); err != nil {
		return err
	}
	p.render(v, http.StatusOK, "import", v.p.T("page.import"), nil)
	return nil
}
