package server

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// metrics gives the clusters that the caller may view as metrics of Prometheus, and the server itself to who may view
// all. Nothing is kept between two requests: what is gone is no metric any more.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	who, err := access.Check(ctx, s.Access, access.Authenticated, "")
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	reg := prometheus.NewRegistry()
	c := &clusterMetrics{s: s, r: r}
	for _, v := range s.Manager.Clusters() {
		role, err := s.Access.RoleOf(ctx, who, v.Name)
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		if role.May(access.View) {
			c.views = append(c.views, v)
		}
	}
	reg.MustRegister(c)
	role, err := s.Access.RoleOf(ctx, who, "")
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	if role.May(access.View) {
		reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// clusterMetrics implements prometheus.Collector. It describes nothing: what there is depends on the clusters.
type clusterMetrics struct {
	s     *Server
	r     *http.Request
	views []*manager.View
}

// Describe implements prometheus.Collector.
func (c *clusterMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *clusterMetrics) Collect(out chan<- prometheus.Metric) {
	put := func(name, help string, value float64, kv ...string) {
		var labels, values []string
		for i := 0; i+1 < len(kv); i += 2 {
			labels, values = append(labels, kv[i]), append(values, kv[i+1])
		}
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("eggo_"+name, help, labels, nil), prometheus.GaugeValue,
			value, values...)
	}
	at := func(name, help, cluster string, t time.Time) {
		if !t.IsZero() {
			put(name, help, float64(t.Unix()), "cluster", cluster)
		}
	}
	put("clusters", "Clusters that the caller may view.", float64(len(c.views)))
	for _, v := range c.views {
		put("cluster_state", "1 for the state that the cluster is in.", 1, "cluster", v.Name, "state", string(v.State))
		at("cluster_state_since_timestamp_seconds", "Since when the cluster is in its state.", v.Name, v.Since)
		ready, failed := 0.0, 0.0
		if v.State.Ready() {
			ready = 1
		}
		if v.Fault != nil {
			failed = 1
		}
		put("cluster_ready", "1 if the cluster is ready.", ready, "cluster", v.Name)
		put("cluster_failed", "1 if its last operation failed.", failed, "cluster", v.Name)
		if o := v.Operation; o != nil {
			put("operation_in_progress", "1 while an operation is in progress.", 1, "cluster", v.Name, "kind",
				string(o.Kind))
		}
		at("certificate_expiry_timestamp_seconds", "When the first certificate expires, CAs aside.", v.Name,
			c.s.Runs.Expiry(v.Name))
		list, err := c.s.Runs.Backups(c.r.Context(), v.Record)
		if err != nil {
			continue
		}
		put("backups", "Backups that are kept.", float64(len(list)), "cluster", v.Name)
		if len(list) > 0 {
			at("backup_newest_timestamp_seconds", "When the newest backup was taken.", v.Name, list[0].At)
			put("backup_newest_size_bytes", "Size of the newest backup.", float64(list[0].Size), "cluster", v.Name)
		}
	}
}
