package binary

// Where the components' files are on a node.
const (
	kubeDir               = "/etc/kubernetes"
	pkiDir                = kubeDir + "/pki"
	adminConf             = kubeDir + "/admin.conf"
	encryptionConf        = kubeDir + "/encryption-config.yaml"
	controllerManagerConf = kubeDir + "/controller-manager.conf"
	schedulerConf         = kubeDir + "/scheduler.conf"
	kubeletConf           = kubeDir + "/kubelet.conf"           // written by the kubelet when it has its certificate
	theirKubeletConf      = kubeDir + "/kubelet.kubeconfig"     // the same of the original eggo
	bootstrapConf         = kubeDir + "/bootstrap-kubelet.conf" // holds the token; removed when the node has joined
	kubeletFile           = kubeDir + "/kubelet.yaml"
	proxyFile             = kubeDir + "/kube-proxy.yaml"
	// servingCert is what a kubelet with serverTLSBootstrap serves with, clientCert what it has joined with.
	servingCert = "/var/lib/kubelet/pki/kubelet-server-current.pem"
	clientCert  = "/var/lib/kubelet/pki/kubelet-client-current.pem"
	// auditPolicy says which requests an API server logs, and auditDir has its logs.
	auditPolicy = kubeDir + "/audit-policy.yaml"
	auditDir    = "/var/log/kubernetes/audit"
	auditLog    = auditDir + "/audit.log"
	corefile    = "/etc/eggo/coredns/Corefile"
	corednsConf = "/etc/eggo/coredns/kubeconfig"
)
