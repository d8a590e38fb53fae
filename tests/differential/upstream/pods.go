// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// handle is what the plugin asks of the scheduler. The embedded interface stands for what it does not ask here.
type handle struct {
	fwk.Handle
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
	manager   fwk.SharedDRAManager
}

func (h handle) ClientSet() kubernetes.Interface                        { return h.client }
func (h handle) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }
func (h handle) SharedDRAManager() fwk.SharedDRAManager                 { return h.manager }
func (h handle) ProfileName() string                                    { return "default" }

type podQuestion struct {
	world
	Node *v1.Node  `json:"node"`
	Pod  *v1.Pod   `json:"pod"`
	Pods []*v1.Pod `json:"pods"`
}

func answerPod(raw []byte) (answer, error) {
	var question podQuestion
	if err := decode(raw, &question); err != nil {
		return nil, err
	}
	question.complete()
	legacyscheme.Scheme.Default(question.Pod)
	ctx := context.Background()
	claims := append(append([]*resourceapi.ResourceClaim{}, question.Claims...), question.AllocatedClaims...)
	manager, err := question.manager(ctx, claims)
	if err != nil {
		return nil, err
	}
	client := fake.NewClientset()
	wanted := feature.NewSchedulerFeaturesFromGates(current)
	plugin, err := dynamicresources.New(ctx, &config.DynamicResourcesArgs{FilterTimeout: &metav1.Duration{Duration: deadline}},
		handle{client: client, informers: informers.NewSharedInformerFactory(client, 0), manager: manager}, wanted)
	if err != nil {
		return nil, err
	}
	for _, pod := range question.Pods {
		legacyscheme.Scheme.Default(pod)
	}
	node := framework.NewNodeInfo(question.Pods...)
	node.SetNode(question.Node)
	found, state := scheduled(ctx, plugin.(*dynamicresources.DynamicResources), question.Pod, node)
	found["allocations"] = allocations(manager, question.Claims)
	account(ctx, found, state, question.Pod, question.Node.Name, wanted)
	return found, nil
}

// scheduled goes through the plugin's steps as the scheduler does, as far as the pod gets.
func scheduled(ctx context.Context, plugin *dynamicresources.DynamicResources, pod *v1.Pod, node fwk.NodeInfo) (answer, fwk.CycleState) {
	state := framework.NewCycleState()
	found := answer{"preFilter": nil, "filter": nil, "reserve": nil}
	_, status := plugin.PreFilter(ctx, state, pod, []fwk.NodeInfo{node})
	found["preFilter"] = said(status)
	if !status.IsSuccess() {
		return found, state
	}
	status = plugin.Filter(ctx, state, pod, node)
	found["filter"] = said(status)
	if !status.IsSuccess() {
		return found, state
	}
	found["reserve"] = said(plugin.Reserve(ctx, state, pod, node.Node().Name))
	return found, state
}

func said(status *fwk.Status) answer {
	reasons := []string{}
	if status != nil { // nil means success
		reasons = append(reasons, status.Reasons()...)
	}
	return answer{"code": status.Code().String(), "reasons": reasons}
}

// allocations gives what Reserve took, in the order of the claims; null for one that was not allocated now.
func allocations(manager *dynamicresources.DefaultDRAManager, claims []*resourceapi.ResourceClaim) []*resourceapi.AllocationResult {
	taken := []*resourceapi.AllocationResult{}
	for _, claim := range claims {
		taken = append(taken, manager.ResourceClaims().GetPendingAllocation(claim.UID))
	}
	return taken
}

// account adds what the pod is charged once the plugin's findings are in its status.
func account(ctx context.Context, found answer, state fwk.CycleState, pod *v1.Pod, node string, wanted feature.Features) {
	charged := pod.DeepCopy()
	charged.Status.NodeAllocatableResourceClaimStatuses =
		dynamicresources.ExtractPodNodeAllocatableResourceClaimStatus(klog.Background(), state, node)
	options := resourcehelper.PodResourcesOptions{
		SkipPodLevelResources:                    !wanted.EnablePodLevelResources,
		UseDRANodeAllocatableResourceClaimStatus: wanted.EnableDRANodeAllocatableResources,
	}
	found["nodeAllocatableResourceClaimStatuses"] = charged.Status.NodeAllocatableResourceClaimStatuses
	found["podRequests"] = resourcehelper.PodRequests(charged, options)
	found["podLimits"] = resourcehelper.PodLimits(charged, options)
	containers := map[string]v1.ResourceList{}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, container := range list {
			containers[container.Name] = resourcehelper.GetContainerDRAAllocations(charged, container.Name)
		}
	}
	found["containers"] = containers
}
