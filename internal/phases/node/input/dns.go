package input

// FormerDNSName is the file in the cluster's directory that says which kind of CoreDNS the cluster is changed from. It
// is there from the moment in which the new deploy.yaml becomes the cluster's own until nothing of that kind is left,
// so that a run that was killed is continued by the next one.
const FormerDNSName = "dns.json"

type formerDNS struct {
	From string `json:"from"` // as corednstype in deploy.yaml
}

// ReadFormerDNS is the kind of CoreDNS that the cluster still has something of beside that of deploy.yaml; "" when it
// has not. A file that cannot be read counts as none: it was written at once or not at all.
func ReadFormerDNS(r *Env) string {
	want := r.Cluster.DNS.Type
	if r.Saved != nil && r.Saved.DNS.Type != want {
		return r.Saved.DNS.Type
	}
	var f formerDNS
	err := ReadUnderWay(r.StateDir, FormerDNSName, &f)
	if err != nil || f.From == want || f.From != "pod" && f.From != "binary" {
		return ""
	}
	return f.From
}

// WriteFormerDNS keeps it for the next run; "" removes the file.
func (r *Env) WriteFormerDNS(kind string) error {
	if kind == "" {
		return ForgetUnderWay(r.StateDir, FormerDNSName)
	}
	return WriteUnderWay(r.StateDir, FormerDNSName, formerDNS{From: kind})
}
