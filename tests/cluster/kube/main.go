// Command kube holds every Kubernetes program that a node of one machine needs; the name it is started under chooses.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func command(name string) *cobra.Command {
	switch name {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background())
	case "kubectl":
		return kubectl.NewDefaultKubectlCommand()
	}
	return nil
}

func main() {
	name := filepath.Base(os.Args[0])
	chosen := command(name)
	if chosen == nil {
		fmt.Fprintf(os.Stderr, "no program %q: start it through a link with the name of a Kubernetes program\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(chosen))
}
