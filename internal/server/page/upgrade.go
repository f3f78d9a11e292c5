package page

import (
	"net/url"
	"strings"

	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/access"
)

// upgradePath is where a cluster is upgraded.
const upgradePath = "/clusters/{cluster}/upgrade"

// upgradeForm is the page on which a cluster is upgraded.
type upgradeForm struct {
	sheet
	Name      string
	Bundles   []server.Bundle
	BundleDir string
	Admin     bool
}

// upgrading is the form on which a cluster is upgraded.
func (p *Page) upgrading() wizard {
	return wizard{may: access.Operate, show: p.upgrade, draft: p.upgradeDraft, send: p.upgraded}
}

func (p *Page) upgrade(v *visit, s sheet, status int) error {
	name := v.r.PathValue("cluster")
	r, err := p.oneCluster(v, name)
	if err != nil {
		return err
	}
	if s.values == nil {
		s.ETag = etagOf(r)
	}
	f := upgradeForm{sheet: s, Name: name, BundleDir: p.Bundles, Admin: v.may(access.Administer, name)}
	if f.Bundles, err = p.bundles(v); err != nil {
		return err
	}
	p.render(v, status, "upgrade", v.p.T("page.upgrade"), f)
	return nil
}

// upgradeOf returns the request that a form comes to, and what cannot be read.
func upgradeOf(q url.Values) (server.UpgradeOptions, typed) {
	var t typed
	t.takeOver(q)
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	o := server.UpgradeOptions{RunOptions: server.RunOptions{OnFailure: get("on_failure"), HostKeys: get("host_keys"),
		Unsigned: q.Get("allow_unsigned") != "", Drain: get("drain"), Force: q.Get("force") != "",
		TakeOver: t.Options.TakeOver, Secrets: secretsOf(q)}, Batch: get("batch"), Soak: get("soak"),
		Window: get("window"), Packages: q.Get("packages") != "", Bundles: q["bundles"]}
	for line := range strings.Lines(q.Get("paths")) {
		if path := strings.TrimSpace(line); path != "" {
			o.Bundles = append(o.Bundles, path)
		}
	}
	return o, t
}

// upgradeDraft says what is wrong with the options of an upgrade.
func (p *Page) upgradeDraft(v *visit) (checkedForm, error) {
	name := v.r.PathValue("cluster")
	q, err := v.form()
	if err != nil {
		return checkedForm{}, err
	}
	r, err := p.oneCluster(v, name)
	if err != nil {
		return checkedForm{}, err
	}
	o, t := upgradeOf(q)
	t.bad = append(t.bad, o.Problems()...)
	out := v.answerTo(t)
	out.Wrong = v.unread(t)
	if len(o.Bundles) == 0 && r.Continue != "upgrade" {
		out.Wrong = append(out.Wrong, wrong{Field: "paths", Text: v.p.T("page.upgrade.none")})
	}
	out.ETag, out.Ask, out.OK = etagOf(r), v.p.T("page.upgrade.about", "cluster", name), len(out.Wrong) == 0
	out.count(v)
	return out, nil
}

// upgraded begins the upgrade of the cluster that the reader was shown.
func (p *Page) upgraded(v *visit) (string, error) {
	q, err := v.form()
	if err != nil {
		return "", err
	}
	in := &server.UpgradeInput{InCluster: v.cluster(), Matching: v.matching()}
	var t typed
	if in.Body.UpgradeOptions, t = upgradeOf(q); len(t.bad) > 0 {
		return "", v.refuse(t, t.bad, nil)
	}
	if _, err := p.api.UpgradeCluster.Call(v.context(), in); err != nil {
		return "", v.refuse(typed{}, err, map[string]string{"api.bundle-place": "paths", "usage.bundle": "paths"})
	}
	return "/clusters/" + escaped(in.Cluster), nil
}
