package phases

// savedName is the cluster's own deploy.yaml in its state directory.
const savedName = "deploy.yaml"
