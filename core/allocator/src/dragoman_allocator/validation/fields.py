"""The fields of every struct of resource.k8s.io, with the types that decide what decodes and what a missing one means.

A type reads as in ``k8s.io/api``: ``*`` may be missing, ``[]`` is a list, ``map[K]V`` a map;
a struct without ``*`` is always there.
"""

from __future__ import annotations

from typing import Final

V1: Final = """
ObjectMeta
    name:string generateName:string namespace:string selfLink:string uid:UID resourceVersion:string generation:int64
    creationTimestamp:Time deletionTimestamp:*Time deletionGracePeriodSeconds:*int64 labels:map[string]string
    annotations:map[string]string ownerReferences:[]OwnerReference finalizers:[]string
    managedFields:[]ManagedFieldsEntry
OwnerReference
    apiVersion:string kind:string name:string uid:UID controller:*bool blockOwnerDeletion:*bool
ManagedFieldsEntry
    manager:string operation:ManagedFieldsOperationType apiVersion:string time:*Time fieldsType:string fieldsV1:*Raw
    subresource:string
Condition
    type:string status:ConditionStatus observedGeneration:int64 lastTransitionTime:Time reason:string message:string
NodeSelector
    nodeSelectorTerms:[]NodeSelectorTerm
NodeSelectorTerm
    matchExpressions:[]NodeSelectorRequirement matchFields:[]NodeSelectorRequirement
NodeSelectorRequirement
    key:string operator:NodeSelectorOperator values:[]string
ResourceSlice
    metadata:ObjectMeta spec:ResourceSliceSpec
ResourceSliceSpec
    driver:string pool:ResourcePool nodeName:*string nodeSelector:*NodeSelector allNodes:*bool devices:[]Device
    perDeviceNodeSelection:*bool sharedCounters:[]CounterSet partitionTypeAttribute:*FullyQualifiedName
    skipNodeOperations:[]SkipNodeOperation
CounterSet
    name:string counters:map[string]Counter
ResourcePool
    name:string generation:int64 resourceSliceCount:int64
Device
    name:string attributes:map[QualifiedName]DeviceAttribute capacity:map[QualifiedName]DeviceCapacity
    consumesCounters:[]DeviceCounterConsumption nodeName:*string nodeSelector:*NodeSelector allNodes:*bool
    taints:[]DeviceTaint bindsToNode:*bool bindingConditions:[]string bindingFailureConditions:[]string
    allowMultipleAllocations:*bool nodeAllocatableResources:map[ResourceName]NodeAllocatableResource
NodeAllocatableResource
    mapping:*NodeAllocatableMapping overhead:*NodeAllocatableOverhead
NodeAllocatableMapping
    capacityKey:*QualifiedName capacityMultiplier:*Quantity deviceMultiplier:*Quantity
NodeAllocatableOverhead
    perPod:*Quantity perContainer:*Quantity
DeviceCounterConsumption
    counterSet:string counters:map[string]Counter compatibilityGroups:[]string
DeviceCapacity
    value:Quantity requestPolicy:*CapacityRequestPolicy
Counter
    value:Quantity
CapacityRequestPolicy
    default:*Quantity validValues:[]Quantity validRange:*CapacityRequestPolicyRange
CapacityRequestPolicyRange
    min:*Quantity max:*Quantity step:*Quantity
DeviceAttribute
    int:*int64 bool:*bool string:*string version:*string ints:[]int64 bools:[]bool strings:[]string
    versions:[]string
DeviceTaint
    key:string value:string effect:DeviceTaintEffect timeAdded:*Time
DeviceTaintRule
    metadata:ObjectMeta spec:DeviceTaintRuleSpec status:DeviceTaintRuleStatus
DeviceTaintRuleSpec
    deviceSelector:*DeviceTaintSelector taint:DeviceTaint
DeviceTaintSelector
    driver:*string pool:*string device:*string
DeviceTaintRuleStatus
    conditions:[]Condition
ResourceClaim
    metadata:ObjectMeta spec:ResourceClaimSpec status:ResourceClaimStatus
ResourceClaimSpec
    devices:DeviceClaim
DeviceClaim
    requests:[]DeviceRequest constraints:[]DeviceConstraint config:[]DeviceClaimConfiguration
DeviceRequest
    name:string exactly:*ExactDeviceRequest firstAvailable:[]DeviceSubRequest
ExactDeviceRequest
    deviceClassName:string selectors:[]DeviceSelector allocationMode:DeviceAllocationMode count:int64
    adminAccess:*bool tolerations:[]DeviceToleration capacity:*CapacityRequirements
    derivedAttributes:[]DeviceDerivedAttribute
DeviceSubRequest
    name:string deviceClassName:string selectors:[]DeviceSelector allocationMode:DeviceAllocationMode count:int64
    tolerations:[]DeviceToleration capacity:*CapacityRequirements derivedAttributes:[]DeviceDerivedAttribute
CapacityRequirements
    requests:map[QualifiedName]Quantity
DeviceSelector
    cel:*CELDeviceSelector
CELDeviceSelector
    expression:string
DeviceDerivedAttribute
    name:FullyQualifiedName expression:string
DeviceConstraint
    requests:[]string matchAttribute:*FullyQualifiedName distinctAttribute:*FullyQualifiedName
DeviceClaimConfiguration
    requests:[]string opaque:*OpaqueDeviceConfiguration
OpaqueDeviceConfiguration
    driver:string parameters:Raw
DeviceToleration
    key:string operator:DeviceTolerationOperator value:string effect:DeviceTaintEffect tolerationSeconds:*int64
ResourceClaimStatus
    allocation:*AllocationResult reservedFor:[]ResourceClaimConsumerReference devices:[]AllocatedDeviceStatus
ResourceClaimConsumerReference
    apiGroup:string resource:string name:string uid:UID
AllocationResult
    devices:DeviceAllocationResult nodeSelector:*NodeSelector allocationTimestamp:*Time
DeviceAllocationResult
    results:[]DeviceRequestAllocationResult config:[]DeviceAllocationConfiguration
DeviceRequestAllocationResult
    request:string driver:string pool:string device:string adminAccess:*bool tolerations:[]DeviceToleration
    bindingConditions:[]string bindingFailureConditions:[]string shareID:*UID
    consumedCapacity:map[QualifiedName]Quantity skipNodeOperations:[]SkipNodeOperation
DeviceAllocationConfiguration
    source:AllocationConfigSource requests:[]string opaque:*OpaqueDeviceConfiguration
DeviceClass
    metadata:ObjectMeta spec:DeviceClassSpec
DeviceClassSpec
    selectors:[]DeviceSelector config:[]DeviceClassConfiguration extendedResourceName:*string
DeviceClassConfiguration
    opaque:*OpaqueDeviceConfiguration
ResourceClaimTemplate
    metadata:ObjectMeta spec:ResourceClaimTemplateSpec
ResourceClaimTemplateSpec
    metadata:ObjectMeta spec:ResourceClaimSpec
AllocatedDeviceStatus
    driver:string pool:string device:string shareID:*string conditions:[]Condition data:*Raw
    networkData:*NetworkDeviceData
NetworkDeviceData
    interfaceName:string ips:[]string hardwareAddress:string
ResourcePoolStatusRequest
    metadata:ObjectMeta spec:ResourcePoolStatusRequestSpec status:*ResourcePoolStatusRequestStatus
ResourcePoolStatusRequestSpec
    driver:string poolName:*string limit:*int32 defaultPartitionTypeAttribute:*string
ResourcePoolStatusRequestStatus
    poolCount:*int32 pools:[]PoolStatus conditions:[]Condition
PoolStatus
    driver:string poolName:string generation:int64 resourceSliceCount:*int32 totalDevices:*int32
    allocatedDevices:*int32 availableDevices:*int32 unavailableDevices:*int32 nodeName:*string
    validationError:*string partitionSummary:[]PartitionTypeStatus shareableSummary:*ShareableSummaryStatus
PartitionTypeStatus
    attribute:string type:string total:*int32 allocatable:*int32
ShareableSummaryStatus
    fullyAvailableDevices:*int32 partiallyAvailableDevices:*int32 capacity:[]ShareableCapacityStatus
ShareableCapacityStatus
    name:string total:*Quantity consumed:*Quantity available:*Quantity
"""

V1BETA1: Final = """
ResourceSliceSpec
    driver:string pool:ResourcePool nodeName:string nodeSelector:*NodeSelector allNodes:bool devices:[]Device
    perDeviceNodeSelection:*bool sharedCounters:[]CounterSet partitionTypeAttribute:*FullyQualifiedName
    skipNodeOperations:[]SkipNodeOperation
Device
    name:string basic:*BasicDevice
BasicDevice
    attributes:map[QualifiedName]DeviceAttribute capacity:map[QualifiedName]DeviceCapacity
    consumesCounters:[]DeviceCounterConsumption nodeName:*string nodeSelector:*NodeSelector allNodes:*bool
    taints:[]DeviceTaint bindsToNode:*bool bindingConditions:[]string bindingFailureConditions:[]string
    allowMultipleAllocations:*bool nodeAllocatableResources:map[ResourceName]NodeAllocatableResource
DeviceRequest
    name:string deviceClassName:string selectors:[]DeviceSelector allocationMode:DeviceAllocationMode count:int64
    adminAccess:*bool firstAvailable:[]DeviceSubRequest tolerations:[]DeviceToleration
    capacity:*CapacityRequirements derivedAttributes:[]DeviceDerivedAttribute
"""
"""What v1beta1 has in another shape."""

PODS: Final = """
Pod
    metadata:ObjectMeta spec:PodSpec status:PodStatus
PodSpec
    resourceClaims:[]PodResourceClaim
PodResourceClaim
    resourceClaimName:*string
PodStatus
    resourceClaimStatuses:[]PodResourceClaim nodeAllocatableResourceClaimStatuses:[]NodeAllocatableClaim
NodeAllocatableClaim
    resourceClaimName:string containers:[]string mapping:[]NodeAllocatableAmount overhead:[]NodeAllocatableAmount
NodeAllocatableAmount
    name:string quantity:*Quantity perPod:*Quantity perContainer:*Quantity
"""
"""The part of a pod that is about claims (KEP-5517); its other fields are not known here."""
