package inventory

// SetFormerDNS tells of which kind of CoreDNS the cluster still has something beside that of deploy.yaml; "" is none.
func (r *Nodes) SetFormerDNS(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wasDNS = kind
}

// FormerDNS is the kind of CoreDNS that the cluster is changed from, as corednstype in deploy.yaml; "" when it is not.
func (r *Nodes) FormerDNS() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wasDNS
}
