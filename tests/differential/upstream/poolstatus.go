// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"errors"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	alphainformers "k8s.io/client-go/informers/resource/v1alpha3"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/resource/v1alpha3"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	alphalisters "k8s.io/client-go/listers/resource/v1alpha3"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controller/resourcepoolstatusrequest"
)

type poolQuestion struct {
	world
	Request *v1alpha3.ResourcePoolStatusRequest `json:"request"`
}

func answerPoolStatus(raw []byte) (answer, error) {
	var question poolQuestion
	if err := decode(raw, &question); err != nil {
		return nil, err
	}
	if question.Request == nil {
		return nil, errors.New("input: no request")
	}
	question.complete()
	status, err := poolStatus(&question)
	if err != nil {
		return answer{"status": nil, "error": err.Error()}, nil
	}
	for i := range status.Conditions {
		status.Conditions[i].LastTransitionTime = metav1.Date(2000, 1, 1, 0, 0, 0, 0, metav1.Now().UTC().Location())
	}
	return answer{"status": status}, nil
}

// poolStatus runs the controller until it wrote the request's status or put the request back for a later try.
func poolStatus(question *poolQuestion) (*v1alpha3.ResourcePoolStatusRequestStatus, error) {
	legacyscheme.Scheme.Default(question.Request)
	if question.Request.Status != nil { // it is answered, and the controller leaves it alone
		return question.Request.Status, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	written := make(chan *v1alpha3.ResourcePoolStatusRequestStatus, 1)
	again := make(chan struct{}, 1)
	controller, err := resourcepoolstatusrequest.NewController(
		ctx,
		statusWriter{written: written},
		requestInformer{newInformer([]*v1alpha3.ResourcePoolStatusRequest{question.Request}), &requestLister{request: question.Request, again: again}},
		sliceInformer{newInformer(question.Slices), sliceLister{items: question.Slices}},
		claimInformer{newInformer(question.Claims), claimLister{items: question.Claims}},
		ruleInformer{newInformer(question.TaintRules), ruleLister{items: question.TaintRules}},
	)
	if err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		controller.Run(ctx, 1)
		close(ended)
	}()
	defer func() { <-ended }()
	defer cancel()
	select {
	case status := <-written:
		return status, nil
	case <-again:
		return nil, errors.New("incomplete pools detected, requeueing")
	}
}

type requestInformer struct {
	informer[*v1alpha3.ResourcePoolStatusRequest]
	lister alphalisters.ResourcePoolStatusRequestLister
}

var _ alphainformers.ResourcePoolStatusRequestInformer = requestInformer{}

func (i requestInformer) Informer() cache.SharedIndexInformer { return i.informer }

func (i requestInformer) Lister() alphalisters.ResourcePoolStatusRequestLister { return i.lister }

// requestLister tells when the controller asks a second time: it gave up once, and would go on to do so.
type requestLister struct {
	alphalisters.ResourcePoolStatusRequestLister
	request *v1alpha3.ResourcePoolStatusRequest
	again   chan struct{}
	asked   bool
}

func (l *requestLister) Get(string) (*v1alpha3.ResourcePoolStatusRequest, error) {
	if l.asked {
		select {
		case l.again <- struct{}{}:
		default:
		}
	}
	l.asked = true
	return l.request, nil
}

func (l *requestLister) List(labels.Selector) ([]*v1alpha3.ResourcePoolStatusRequest, error) {
	return nil, nil
}

type claimInformer struct {
	informer[*resourceapi.ResourceClaim]
	lister resourcelisters.ResourceClaimLister
}

func (i claimInformer) Informer() cache.SharedIndexInformer { return i.informer }

func (i claimInformer) Lister() resourcelisters.ResourceClaimLister { return i.lister }

// statusWriter takes the one write of the controller.
type statusWriter struct {
	kubernetes.Interface
	typed.ResourceV1alpha3Interface
	typed.ResourcePoolStatusRequestInterface
	written chan *v1alpha3.ResourcePoolStatusRequestStatus
}

func (w statusWriter) ResourceV1alpha3() typed.ResourceV1alpha3Interface { return w }

func (w statusWriter) ResourcePoolStatusRequests() typed.ResourcePoolStatusRequestInterface { return w }

func (w statusWriter) UpdateStatus(_ context.Context, request *v1alpha3.ResourcePoolStatusRequest, _ metav1.UpdateOptions) (*v1alpha3.ResourcePoolStatusRequest, error) {
	w.written <- request.Status
	return request, nil
}
