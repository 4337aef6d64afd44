#!lua name=ketch_VERSION
-- What is decided inside Redis: a Function library (Redis 7.0), loaded by functions.ts, which puts a digest of this text in
-- place of VERSION, so that brokers of two releases can share one Redis. docs/reference/redis-keys.md describes the keys.
--
-- No payload passes through here on the way in: an append is
--
--   MULTI
--   FCALL arm                            notes how many entries there are
--   XADD batches NOMKSTREAM <id> ...     one for each batch, id = <epoch>-<base offset + 1>
--   FCALL seal                           decides: everything above counts only if this says so
--   EXEC
--
-- Nothing comes between those commands. So all entries of the append have landed if, and only if, there are as many more when
-- it is sealed as when it was armed; a count alone would take a stranger's entry for one that was refused.
--
-- An entry above the last that was sealed counts for nothing: no reader sees it, the next `open` sweeps it.
--
-- Fields of meta: epoch, epochs ("<epoch>:<start> ..." ascending), start (the log start), sealed (see below), attempt (the last
-- one that was sealed), replid (the incarnation of the store that it was opened under), sizes (the leader's book-keeping), floor
-- (offsets below it were told to somebody before the store lost them: until `open` has raised the end nothing is sealed).
--
-- sealed is "<end> <visible> <length> <last>": the next offset, the high watermark, the entries that must be there, and the id of
-- the newest. One field, because a leader knows it by heart and `seal` compares it whole.

-- Numbers go out as text: Lua would write large ones as 1e+15.
local function whole(number) return string.format('%.0f', number) end

local function pair(id)
  local high, low = string.match(id, '^(%d+)%-(%d+)$')
  return tonumber(high), tonumber(low)
end

local function above(id, other)
  local high, low = pair(id)
  local otherHigh, otherLow = pair(other)
  return high > otherHigh or (high == otherHigh and low > otherLow)
end

-- The epochs that own live offsets, and the newest.
local function living(epochs, start)
  local list = {}
  for epoch, from in string.gmatch(epochs, '(%d+):(%d+)') do list[#list + 1] = {epoch, tonumber(from)} end
  local kept = {}
  for i, each in ipairs(list) do
    local following = list[i + 1]
    if not following or (following[2] > start and following[2] > each[2]) then
      kept[#kept + 1] = each[1] .. ':' .. whole(each[2])
    end
  end
  return table.concat(kept, ' ')
end

-- Changes with every start of a server and with every fail-over: what was written before may be gone.
local function incarnation()
  return string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
end

-- The next ids may be anything above this one. Refused where something lies above it, which `seal` then meets.
local function setLastId(batches, id)
  redis.pcall('XSETID', batches, id, 'ENTRIESADDED', redis.call('XLEN', batches), 'MAXDELETEDID', '0-0')
end

local function unpackSealed(sealed)
  local ending, visible, length, last = string.match(sealed or '', '^(%d+) (%d+) (%d+) (%S+)$')
  if not last then error({err = 'ERR the field sealed is not in a form that this version reads'}) end
  return tonumber(ending), tonumber(visible), tonumber(length), last
end

local function endOf(sealed) return whole((unpackSealed(sealed))) end

local function packSealed(ending, visible, length, last)
  return whole(ending) .. ' ' .. whole(visible) .. ' ' .. whole(length) .. ' ' .. last
end

local function makeEmpty(batches)
  redis.call('XADD', batches, '0-1', 'x', '')
  redis.call('XDEL', batches, '0-1')
end

-- Rows are a key even where there are none: while a slot is on its way, a cluster refuses whatever names a key that is not there
-- beside one that is, be it that it was never made.
local function keepRows(rows)
  if redis.call('EXISTS', rows) == 0 then redis.call('HSET', rows, '.', '') end
end

-- args from `at`: how many fields are set, then each with its value, then the fields that are deleted; or none.
local function applyFields(key, args, at)
  if not args[at] then return end
  local sets = tonumber(args[at])
  for i = at + 1, at + 2 * sets, 2 do redis.call('HSET', key, args[i], args[i + 1]) end
  for i = at + 1 + 2 * sets, #args do redis.call('HDEL', key, args[i]) end
end

local function register(name, flags, callback)
  redis.register_function{function_name = 'ketch_VERSION_' .. name, flags = flags, callback = callback}
end

-- keys: batches meta rows
register('create', {}, function(keys)
  if redis.call('HEXISTS', keys[2], 'epoch') == 1 then return {'exists'} end
  redis.call('DEL', keys[1], keys[2], keys[3])
  makeEmpty(keys[1])
  keepRows(keys[3])
  redis.call('HSET', keys[2], 'epoch', '0', 'epochs', '', 'start', '0', 'sealed', packSealed(0, 0, 0, '0-1'), 'sizes', '')
  return {'created'}
end)

-- Takes the lead, or settles an unknown outcome: the only place where the epoch rises and where damage is repaired.
-- keys: batches meta rows   args: the epoch that the caller knows (0: none), floor, whether all that is there is visible at once
-- Repairing and taking over must work on a full Redis: it frees memory, and the lead must not hang on it.
register('open', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'epochs', 'start', 'sealed', 'attempt', 'replid', 'sizes', 'floor')
  if not m[1] then return {'gone'} end
  local epoch, known = tonumber(m[1]), tonumber(args[1])
  if known > 0 and epoch > known then return {'fenced', m[1]} end
  local formerEnd, visible, expected, last = unpackSealed(m[4])

  keepRows(keys[3])
  local swept = 0
  repeat -- a few at a time: this copies their payloads
    local stray = redis.call('XRANGE', keys[1], '(' .. last, '+', 'COUNT', 8)
    for i = 1, #stray do redis.call('XDEL', keys[1], stray[i][1]) end
    swept = swept + #stray
  until #stray == 0
  local length = redis.call('XLEN', keys[1])
  if redis.call('EXISTS', keys[1]) == 0 then makeEmpty(keys[1]) end

  local replid = incarnation()
  local renewed = m[6] and m[6] ~= replid
  epoch = epoch + 1
  if renewed then epoch = epoch + 1000 end -- the store may have lost epochs that were in use
  local start, ending = tonumber(m[3]), math.max(formerEnd, tonumber(args[2]), tonumber(m[8] or 0))
  local epochs = living(m[2] .. ' ' .. whole(epoch) .. ':' .. whole(ending), start)
  if args[3] == '1' then visible = ending end
  -- With everything gone the length stays, so that whoever opens it next learns of it too.
  local sealed = packSealed(ending, visible, length > 0 and length or expected, last)
  redis.call('HSET', keys[2], 'epoch', whole(epoch), 'epochs', epochs, 'sealed', sealed, 'replid', replid)
  redis.call('HDEL', keys[2], 'floor')
  setLastId(keys[1], whole(epoch) .. '-0')
  return {'opened', whole(epoch), m[3], epochs, sealed, m[5] or '', m[7], replid, m[6] or '', whole(formerEnd), whole(swept),
    whole(expected - length), whole(length)}
end)

-- Of which stream the append that is under way is, and how many entries that had when it began. Held here from `arm` to `seal`,
-- between which nothing else runs.
--
-- Both come with every append, between payloads that have driven all of this out of the processor's caches: what they touch is
-- what they cost. So they answer a number where there is nothing to say (a table is looked through for its type), and take
-- as few arguments as will do.
local armed, armedLength

-- The first command of an append. keys: batches
register('arm', {'no-writes'}, function(keys)
  armed, armedLength = keys[1], redis.call('XLEN', keys[1])
  return 1
end)

-- The last command of an append. Writes nothing but in its last lines, and takes back what the XADDs before it did
-- otherwise: those of its own ids that lie above the last sealed one can only be this append's.
-- keys: batches meta rows
-- args: epoch, what is sealed as the leader knows it, attempt, what is sealed with this append, sizes, length as the leader knows
-- it, number of ids, the ids, rows
-- answers 1, or why not
register('seal', {}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'sealed', 'floor')
  local before = armed == keys[1] and armedLength or -1
  armed = nil
  local no
  if not m[1] then no = {'gone'}
  elseif m[1] ~= args[1] then no = {'fenced', m[1]}
  elseif m[2] ~= args[2] or m[3] then no = {'misplaced', endOf(m[2])}
  elseif before ~= tonumber(args[6]) then
    no = {'torn', 'it had ' .. whole(before) .. ' entries where ' .. args[6] .. ' were expected'}
  else
    local there = redis.call('XLEN', keys[1])
    if there ~= before + args[7] then no = {'torn', 'it took ' .. whole(there - before) .. ' of ' .. args[7] .. ' entries'} end
  end
  if no then
    if m[1] then
      local _, _, _, last = unpackSealed(m[2])
      for id in string.gmatch(args[8], '%S+') do
        if above(id, last) then redis.call('XDEL', keys[1], id) end
      end
      local opened = m[1] .. '-0'
      setLastId(keys[1], above(opened, last) and opened or last)
    end
    return no
  end
  -- Rows first: where they cannot be written this ends here, and nothing has been sealed.
  applyFields(keys[3], args, 9)
  redis.call('HSET', keys[2], 'sealed', args[4], 'attempt', args[3], 'sizes', args[5])
  return 1
end)

-- Retention must work on a full Redis.
-- keys: batches meta rows
-- args: epoch, new log start, the high watermark that the leader knows, id of the first entry to keep, sizes, rows
register('trim', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'start', 'sealed', 'epochs')
  if not m[1] then return {'gone'} elseif m[1] ~= args[1] then return {'fenced', m[1]} end
  local ending, visible, length, last = unpackSealed(m[3])
  visible = math.max(visible, tonumber(args[3]))
  local start = math.max(tonumber(m[2]), math.min(tonumber(args[2]), visible))
  local dropped = 0
  if start == tonumber(args[2]) then dropped = redis.call('XTRIM', keys[1], 'MINID', '=', args[4]) end
  local epochs, sealed = living(m[4], start), packSealed(ending, visible, length - dropped, last)
  redis.call('HSET', keys[2], 'start', whole(start), 'sealed', sealed, 'epochs', epochs, 'sizes', args[5])
  applyFields(keys[3], args, 6)
  return {'trimmed', whole(start), epochs, sealed}
end)

-- A write that a WAIT after it can count: what was written before it is then on the replicas too.
-- keys: meta   args: epoch
register('confirm', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[1], 'epoch', 'sealed')
  if not m[1] then return {'gone'} elseif m[1] ~= args[1] then return {'fenced', m[1]} end
  redis.call('HSET', keys[1], 'epoch', m[1])
  return {'confirmed', endOf(m[2])}
end)

-- After the store has lost the end of a log: offsets that somebody was told of are not used again, whoever leads next. The end
-- itself stays, or an append that a former leader has under way, at the end that it knew, would find its place again.
-- keys: meta   args: floor
register('raise', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[1], 'sealed', 'floor')
  if not m[1] then return {'gone'} end
  local ending = endOf(m[1])
  if math.max(tonumber(ending), tonumber(m[2] or 0)) < tonumber(args[1]) then redis.call('HSET', keys[1], 'floor', args[1]) end
  return {'raised', ending}
end)

-- As `confirm`, for whoever reads documents. keys: counter
register('touch', {'allow-oom'}, function(keys)
  return redis.call('HINCRBY', keys[1], 'touched', 1)
end)

-- Compare-and-set of one document. Versions come from a counter beside the documents of its bucket that is never deleted;
-- where the store may have lost some of them, or all, it leaps over those.
-- keys: document index counter
-- args: name, the version that is expected (0: it must not exist), '1' to remove it, changes
local function commit(keys, args)
  local version = redis.call('HGET', keys[1], 'version') or '0'
  if version ~= args[2] then return {'conflict', version} end
  local replid = incarnation()
  local former = redis.call('HGET', keys[3], 'replid')
  local raise = former == replid and 1 or 1000001
  -- A store that was emptied begins above whatever it may have given before: a thousand versions for each second since 1970.
  if not former then
    -- INFO, which the broker's user may run anyway.
    local microseconds = string.match(redis.call('INFO', 'server'), 'server_time_usec:(%d+)')
    raise = math.floor(tonumber(microseconds) / 1000)
  end
  local fresh = whole(redis.call('HINCRBY', keys[3], 'version', raise))
  if former ~= replid then redis.call('HSET', keys[3], 'replid', replid) end
  if args[3] == '1' then
    redis.call('SREM', keys[2], args[1])
    redis.call('DEL', keys[1])
  else
    if version == '0' then redis.call('SADD', keys[2], args[1]) end
    redis.call('HSET', keys[1], 'version', fresh, 'name', args[1])
    applyFields(keys[1], args, 4)
  end
  return {'committed', fresh}
end

register('commit', {}, commit)

-- The same, for changes that add nothing: signs of life and removals. A full Redis must not cost a broker its place in the cluster, or
-- nobody leads after an expiry and nothing is read either.
register('recommit', {'allow-oom'}, commit)

-- Documents whose place and shape the specification fixes: a hash of its own, or one member of a hash. Nothing else may rest there,
-- so that the version is a digest of what the document holds: equal contents have equal versions.
local function versionAt(key, member)
  local parts = {}
  if member ~= '' then
    local value = redis.call('HGET', key, member)
    if not value then return '0' end
    parts = {value}
  else
    local flat, names, values = redis.call('HGETALL', key), {}, {}
    if #flat == 0 then return '0' end
    for i = 1, #flat, 2 do
      names[#names + 1] = flat[i]
      values[flat[i]] = flat[i + 1]
    end
    table.sort(names)
    for _, name in ipairs(names) do
      parts[#parts + 1] = #name .. ':' .. name .. #values[name] .. ':' .. values[name]
    end
  end
  return whole(tonumber(string.sub(redis.sha1hex(table.concat(parts)), 1, 12), 16) + 1)
end

-- keys: the hash   args: the member ('' for the whole hash), the version that is expected, '1' to remove it, and the member's value
-- or changes of the hash
local function place(keys, args)
  local key, member = keys[1], args[1]
  local version = versionAt(key, member)
  if version ~= args[2] then return {'conflict', version} end
  if args[3] == '1' then
    if member == '' then redis.call('DEL', key) else redis.call('HDEL', key, member) end
  elseif member == '' then
    applyFields(key, args, 4)
  else
    redis.call('HSET', key, member, args[4])
  end
  return {'committed', versionAt(key, member)}
end

register('place', {}, place)

-- The same, for removals: they add nothing.
register('displace', {'allow-oom'}, place)
