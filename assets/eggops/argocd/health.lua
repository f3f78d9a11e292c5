-- Health of Cluster, Machine, Infrastructure and Operation for Argo CD, which otherwise calls them Healthy because they
-- exist. It agrees with kstatus, which Flux uses: InProgress is Progressing, Current is Healthy, Failed is Degraded.
local function condition(type)
  if obj.status ~= nil and obj.status.conditions ~= nil then
    for _, c in ipairs(obj.status.conditions) do
      if c.type == type then
        return c
      end
    end
  end
  return {}
end

local function message(c)
  if c.message ~= nil and c.message ~= "" then
    return c.message
  end
  return c.reason or ""
end

local ready, reconciling, stalled = condition("Ready"), condition("Reconciling"), condition("Stalled")

if obj.metadata.deletionTimestamp ~= nil then
  return { status = "Progressing", message = message(condition("DeletionBlocked")) }
end
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "the operator has not seen this version yet" }
end
if reconciling.status == "True" then
  return { status = "Progressing", message = message(reconciling) }
end
if stalled.status == "True" then
  return { status = "Degraded", message = message(stalled) }
end
if ready.status == "True" then
  return { status = "Healthy", message = message(ready) }
end
return { status = "Progressing", message = message(ready) }
