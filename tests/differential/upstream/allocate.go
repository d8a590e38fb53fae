// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"errors"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// deadline is the scheduler's own limit for one node.
const deadline = 10 * time.Second

var compiled = map[dracel.Features]*dracel.Cache{}

func celFeatures() dracel.Features {
	return dracel.Features{
		EnableConsumableCapacity: current.Enabled(features.DRAConsumableCapacity),
		EnableListTypeAttributes: current.Enabled(features.DRAListTypeAttributes),
	}
}

// selectors keeps what was compiled from one world to the next.
func selectors() *dracel.Cache {
	wanted := celFeatures()
	if compiled[wanted] == nil {
		compiled[wanted] = dracel.NewCache(1000, wanted)
	}
	return compiled[wanted]
}

func allocatorFeatures() structured.Features {
	return dynamicresources.AllocatorFeatures(feature.NewSchedulerFeaturesFromGates(current))
}

// scene is what an allocator is made from: the allocations so far, the classes and the slices.
type scene struct {
	state   *structured.AllocatedState
	classes fwk.DeviceClassLister
	slices  []*resourceapi.ResourceSlice
}

func (w *world) scene(ctx context.Context) (*scene, error) {
	manager, err := w.manager(ctx, w.AllocatedClaims)
	if err != nil {
		return nil, err
	}
	state, err := manager.ResourceClaims().GatherAllocatedState()
	if err != nil {
		return nil, err
	}
	slices, err := manager.ResourceSlices().ListWithDeviceTaintRules()
	return &scene{state, manager.DeviceClasses(), slices}, err
}

func (s *scene) allocator(ctx context.Context) (structured.Allocator, error) {
	return structured.NewAllocator(ctx, allocatorFeatures(), *s.state, s.classes, s.slices, selectors())
}

func answerAllocate(raw []byte) (answer, error) {
	var question struct {
		world
		Node *v1.Node `json:"node"`
	}
	if err := decode(raw, &question); err != nil {
		return nil, err
	}
	if question.Node == nil {
		question.Node = &v1.Node{}
	}
	question.complete()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	scene, err := question.scene(ctx)
	if err != nil {
		return nil, err
	}
	allocator, err := scene.allocator(ctx)
	if err != nil {
		return nil, err
	}
	results, err := allocator.Allocate(ctx, question.Node, question.Claims)
	return outcome(allocator, results, err), nil
}

func outcome(allocator structured.Allocator, results []resourceapi.AllocationResult, err error) answer {
	found := answer{"results": results}
	if steps := steps(allocator); steps > 0 {
		found["steps"] = steps
	}
	if err != nil {
		found["results"] = nil
		found["error"] = err.Error()
		found["errorOnNode"] = errors.Is(err, structured.ErrFailedAllocationOnNode)
	}
	return found
}

// steps asks for what the allocator counts but its interface does not name; the oldest variant counts nothing.
func steps(allocator structured.Allocator) int64 {
	method := reflect.ValueOf(allocator).MethodByName("GetStats")
	if !method.IsValid() {
		return 0
	}
	return method.Call(nil)[0].FieldByName("NumAllocateOneInvocations").Int()
}
