#!lua name=ketch_VERSION
-- What is decided inside Redis: a Function library (Redis 7.0), loaded by functions.ts, which puts a digest of this
-- text in place of VERSION, so that brokers of two releases can share one Redis. docs/reference/redis-keys.md describes
-- the keys.
--
-- No payload passes through here on the way in: an append is
--
--   MULTI
--   FCALL arm                            notes how many entries there are
--   XADD batches NOMKSTREAM <id> ...     one for each batch, id = <epoch>-<base offset + 1>
--   FCALL seal                           decides: everything above counts only if this says so
--   EXEC
--
-- Nothing comes between those commands. So all entries of the append have landed if, and only if, there are as many
-- more when it is sealed as when it was armed; a count alone would take a stranger's entry for one that was refused.
--
-- An entry above the last that was sealed counts for nothing: no reader sees it, the next `open` sweeps it.
--
-- Fields of meta: epoch, epochs ("<epoch>:<start>:<id of the newest entry before it> ..." ascending), start (the log
-- start), sealed (see below), attempt (the last one that was sealed), replid (the incarnation of the store that it was
-- opened under), sizes (the leader's book-keeping), floor (offsets below it were told to somebody before the store lost
-- them: until `open` has raised the end nothing is sealed), swept (the incarnation under which voids were looked
-- through), vouched (the incarnation under which the last leader, which led under another, said how far it had told
-- clients), empty ("<from> <to>": the end was raised there, and counts while it is the end that is sealed), leader (the
-- process that led last, be it without having heard of it), settled (the epoch whose leader ended in order: it told
-- clients of nothing more), trim ("<start> <keep> <position> <offset>", see `intend`: what a trim that is not finished
-- drops).
--
-- sealed is "<end> <visible> <length> <last>": the next offset, the high watermark, the entries that must be there, and
-- the id of the newest. One field, because a leader knows it by heart and `seal` compares it whole.
--
-- A Redis that is killed can leave its append-only file torn inside a transaction, and writes behind that. When it
-- loads the file the next time, the torn beginning runs after all, before whatever was written since
-- (docs/decisions/0037). So
-- - each transaction is written such that its beginning alone is nothing, or the whole: one command decides, or can be
--   followed up;
-- - the first write under a new incarnation writes anew all that such a beginning may have changed, which overrides it.
-- Between the newest entry before an epoch and that epoch lies nothing that counts, be it there: a void.

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

-- Each: the epoch, where it begins, the newest entry before it ('' where an earlier version wrote it).
local function unpackEpochs(epochs)
  local list = {}
  for epoch, from, before in string.gmatch(epochs, '(%d+):(%d+):?([%d-]*)') do
    list[#list + 1] = {epoch, tonumber(from), before}
  end
  return list
end

-- The epochs that own live offsets, and the newest.
local function living(epochs, start)
  local list, kept = unpackEpochs(epochs), {}
  for i, each in ipairs(list) do
    local following = list[i + 1]
    if not following or (following[2] > start and following[2] > each[2]) then
      kept[#kept + 1] = each[1] .. ':' .. whole(each[2]) .. (each[3] ~= '' and ':' .. each[3] or '')
    end
  end
  return table.concat(kept, ' ')
end

-- Deletes entries between two ids, this many at most; one at a time, because looking at them copies their payloads.
local function sweep(batches, from, to, most)
  for swept = 0, most - 1 do
    local stray = redis.call('XRANGE', batches, from, to, 'COUNT', 1)[1]
    if not stray then return swept end
    redis.call('XDEL', batches, stray[1])
  end
  return most
end

-- Writes the whole key again, in one command. Where the user of the broker may not, it stays as it is.
local function restate(key)
  local dumped = redis.pcall('DUMP', key)
  if type(dumped) == 'string' then redis.pcall('RESTORE', key, '0', dumped, 'REPLACE') end
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

-- As sizes.ts draws them: the first live entry begins at `position`, and everything before `offset` is gone.
local function cutSizes(sizes, position, offset, ending)
  local total, _, largest, largestAt, after = string.match(sizes, '^(%d+) (%d+) (%d+) (%-?%d+) (%d+)$')
  if not total then return sizes end
  if tonumber(largestAt) < tonumber(offset) then largest, largestAt, after = after, whole(ending - 1), '0' end
  return total .. ' ' .. position .. ' ' .. largest .. ' ' .. largestAt .. ' ' .. after
end

-- Drops what `intend` noted. Answers the log start, the entries that must be there, and the sizes; and the error where
-- the user of the broker may not drop entries.
local function finishTrim(batches, noted, start, sealed, sizes)
  local ending, _, length, last = unpackSealed(sealed)
  local asked, keep, position, offset = string.match(noted or '', '^(%d+) (%d+%-%d+) (%d+) (%d+)$')
  if not asked or tonumber(asked) <= start then return start, length, sizes end
  local dropped = redis.pcall('XTRIM', batches, 'MINID', '=', keep)
  if type(dropped) == 'table' then return start, length, sizes, dropped.err end
  length = length - dropped
  -- Where entries were lost, nothing is missing any more.
  if above(keep, last) then length = 0 end
  return tonumber(asked), length, cutSizes(sizes, position, offset, ending)
end

local function makeEmpty(batches)
  redis.call('XADD', batches, '0-1', 'x', '')
  redis.call('XDEL', batches, '0-1')
end

-- Rows are a key even where there are none: while a slot is on its way, a cluster refuses whatever names a key that is
-- not there beside one that is, be it that it was never made.
local function keepRows(rows)
  if redis.call('EXISTS', rows) == 0 then redis.call('HSET', rows, '.', '') end
end

-- In one command, up to what Lua can unpack: 3,000 fields, and so on.
local function callWith(command, key, args)
  for i = 1, #args, 6000 do redis.call(command, key, unpack(args, i, math.min(#args, i + 5999))) end
end

-- Fields as arguments from `at`: how many are set, then each with its value, then the ones that are deleted; or none.
-- Answers those that are set, each with its value behind it, and those that are deleted.
local function unpackFields(args, at)
  local set, dropped = {}, {}
  if not args[at] then return set, dropped end
  local last = at + 2 * tonumber(args[at])
  for i = at + 1, last do set[#set + 1] = args[i] end
  for i = last + 1, #args do dropped[#dropped + 1] = args[i] end
  return set, dropped
end

local function append(list, ...)
  for _, each in ipairs({...}) do list[#list + 1] = each end
end

local function applyFields(key, args, at)
  local set, dropped = unpackFields(args, at)
  callWith('HSET', key, set)
  callWith('HDEL', key, dropped)
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

-- Deletes what a torn transaction left in the voids. `open` asks for it once in each incarnation.
-- keys: batches meta   args: the number of the epoch to begin with, how many entries at most
-- answers the number to go on with (0: done), and how many entries it deleted
register('sweep', {'allow-oom'}, function(keys, args)
  local list, most, swept = unpackEpochs(redis.call('HGET', keys[2], 'epochs') or ''), tonumber(args[2]), 0
  local first = math.max(2, tonumber(args[1]))
  for i = first, #list do
    if i >= first + 16 * most then return {whole(i), whole(swept)} end
    local epoch, from, before = unpack(list[i])
    if before == '' then before = list[i - 1][1] .. '-' .. whole(from) end
    swept = swept + sweep(keys[1], '(' .. before, '(' .. epoch .. '-0', most - swept)
    -- More may lie before this epoch.
    if swept >= most then return {whole(i), whole(swept)} end
  end
  if #list > 0 then redis.call('HSET', keys[2], 'swept', incarnation()) end
  return {'0', whole(swept)}
end)

-- Whether this server, since it was started, took over from a primary that it had followed, and may lack the end of
-- what that had.
local function wasReplica()
  return not string.match(redis.call('INFO', 'replication'), 'master_replid2:0+[\r\n]')
end

-- How many offsets are left out where clients may have been told of some that the store has lost, and no broker knows
-- of which.
local LEAP = 100000000

-- Whether the caller led last of all that the store remembers, or it has forgotten that the caller did: then no process
-- else knows more.
local function ledLast(leader, epoch, caller, itsEpoch) return leader == caller or tonumber(itsEpoch) >= epoch end

-- Takes the lead, or settles an unknown outcome: the only place where the epoch rises and where damage is repaired.
-- keys: batches meta rows
-- args: the epoch that the caller knows (0: none), floor, whether all that is there is visible at once, the caller's
-- process, the last epoch that it led with (0: none), whether it waits for somebody who vouches, whether Redis syncs
-- its file before it answers Repairing and taking over must work on a full Redis: it frees memory, and the lead must
-- not hang on it.
register('open', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'epochs', 'start', 'sealed', 'attempt', 'replid', 'sizes', 'floor', 'swept',
    'vouched', 'settled', 'leader', 'empty', 'trim')
  if not m[1] then return {'gone'} end
  local epoch, known = tonumber(m[1]), tonumber(args[1])
  if known > 0 and epoch > known then return {'fenced', m[1]} end
  local replid = incarnation()
  if m[9] ~= replid and #unpackEpochs(m[2]) > 1 then return {'unswept'} end
  -- The store may have lost a later lead, and what that told: only who led last knows, or said that it ended.
  local renewed, leap = m[6] and m[6] ~= replid, 0
  local isVouched = ledLast(m[12], epoch, args[4], args[5]) or (m[10] and m[10] ~= m[6]) or m[11] == m[1]
  -- A server that syncs each write and never followed another has lost nothing that it answered.
  local isWhole = args[7] == '1' and not wasReplica()
  if renewed and not isVouched and not isWhole then
    if args[6] == '1' then return {'unvouched'} end
    leap = LEAP
  end
  local formerEnd, visible, expected, last = unpackSealed(m[4])
  local attempt, sizes = m[5] or '', m[7] or ''

  keepRows(keys[3])
  -- An append that was torn between its rows and its seal: all its entries are there, so it is finished.
  local torn, itsAttempt, itsSizes = string.match(redis.call('HGET', keys[3], '.') or '', '^([^\n]*)\n([^\n]*)\n([^\n]*)$')
  if torn then
    local itsEnd, itsVisible, itsLength, itsLast = unpackSealed(torn)
    if itsEnd > formerEnd and pair(itsLast) == epoch and redis.call('XLEN', keys[1]) == itsLength then
      formerEnd, visible, expected, last, attempt, sizes = itsEnd, itsVisible, itsLength, itsLast, itsAttempt, itsSizes
    end
  end
  local swept = sweep(keys[1], '(' .. last, '+', math.huge)
  local start = tonumber(m[3])
  local former = packSealed(formerEnd, visible, expected, last)
  local trimmed, left, cut, refused = finishTrim(keys[1], m[14], start, former, sizes)
  local length = redis.call('XLEN', keys[1])
  -- A torn trim may have dropped its entries without counting them.
  if trimmed > start and length > 0 then left = math.min(left, length) end
  start, expected, sizes = trimmed, left, cut
  if redis.call('EXISTS', keys[1]) == 0 then makeEmpty(keys[1]) end

  local ending = math.max(formerEnd, tonumber(args[2]), tonumber(m[8] or 0))
  if renewed then
    epoch = epoch + 1000 -- the store may have lost epochs that were in use
    restate(keys[3])
  end
  epoch, ending = epoch + 1, ending + leap
  local epochs = living(m[2] .. ' ' .. whole(epoch) .. ':' .. whole(ending) .. ':' .. last, start)
  if args[3] == '1' then visible = ending end
  local emptyFrom, emptyTo = string.match(m[13] or '', '^(%d+) (%d+)$')
  if tonumber(emptyTo) ~= formerEnd then emptyFrom = whole(formerEnd) end
  -- With everything gone, or more there than there may be, the length stays, so that the next opening learns of it
  -- too.
  local isCounted = length > 0 and length <= expected
  local sealed = packSealed(ending, visible, isCounted and length or expected, last)
  redis.call('HSET', keys[2], 'epoch', whole(epoch), 'epochs', epochs, 'start', whole(start), 'trim', refused and m[14] or '', 'sealed', sealed,
    'replid', replid, 'swept', replid, 'attempt', attempt, 'sizes', sizes, 'empty', emptyFrom .. ' ' .. whole(ending), 'leader', args[4])
  redis.call('HDEL', keys[2], 'floor', 'vouched')
  setLastId(keys[1], whole(epoch) .. '-0')
  return {'opened', whole(epoch), whole(start), epochs, sealed, attempt, sizes, replid, m[6] or '', whole(formerEnd), whole(swept),
    whole(expected - length), whole(length), whole(leap), emptyFrom}
end)

-- Of which stream the append that is under way is, and how many entries that had when it began. Held here from `arm` to
-- `seal`, between which nothing else runs.
--
-- Both come with every append, between payloads that have driven all of this out of the processor's caches: what they
-- touch is what they cost. So they answer a number where there is nothing to say (a table is looked through for its
-- type), and take as few arguments as will do.
local armed, armedLength

-- The first command of an append. keys: batches
register('arm', {'no-writes'}, function(keys)
  armed, armedLength = keys[1], redis.call('XLEN', keys[1])
  return 1
end)

-- The last command of an append. Writes nothing but in its last lines, and takes back what the XADDs before it did
-- otherwise: those of its own ids that lie above the last sealed one can only be this append's.
-- keys: batches meta rows
-- args: epoch, what is sealed as the leader knows it, attempt, what is sealed with this append, sizes, length as the
-- leader knows it, number of ids, the ids, rows answers 1, or why not
register('seal', {}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'sealed', 'floor')
  local before = armed == keys[1] and armedLength or -1
  armed = nil
  local no
  if not m[1] then no = {'gone'}
  elseif m[1] ~= args[1] then no = {'fenced', m[1]}
  elseif m[2] ~= args[2] or m[3] then no = {'misplaced', endOf(m[2])}
  elseif before ~= tonumber(args[6]) then
    local isShort = before >= 0 and before < tonumber(args[6])
    no = isShort and {'short', whole(before)} or {'torn', 'it had ' .. whole(before) .. ' entries where ' .. args[6] .. ' were expected'}
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
  if not args[9] then
    redis.call('HSET', keys[2], 'sealed', args[4], 'attempt', args[3], 'sizes', args[5])
    return 1
  end
  -- Rows first: where they cannot be written this ends here, and nothing has been sealed. With them stands what is
  -- sealed, by which `open` finishes what was torn in between; a deletion that is left undone does no harm.
  local set, dropped = unpackFields(args, 9)
  append(set, '.', args[4] .. '\n' .. args[3] .. '\n' .. args[5])
  callWith('HSET', keys[3], set)
  redis.call('HSET', keys[2], 'sealed', args[4], 'attempt', args[3], 'sizes', args[5])
  callWith('HDEL', keys[3], dropped)
  return 1
end)

-- The first call of a trim: notes what the second one drops, which is sent right behind it. It writes one command,
-- which is in the append-only file whole or not at all, before the entries go: where the second call is torn, `open`
-- finishes it. A start that is not above the stored one drops nothing. keys: meta args: epoch, new log start, the high
-- watermark that the leader knows, id of the first entry to keep, position of that entry, its offset
register('intend', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[1], 'epoch', 'start', 'sealed')
  if m[1] ~= args[1] then return {'refused'} end
  local _, visible = unpackSealed(m[3])
  local asked = tonumber(args[2])
  if asked > tonumber(m[2]) and asked <= math.max(visible, tonumber(args[3])) then
    redis.call('HSET', keys[1], 'trim', table.concat({args[2], args[4], args[5], args[6]}, ' '))
  end
  return {'noted'}
end)

-- Retention must work on a full Redis.
-- keys: batches meta rows
-- args: epoch, the log start that was noted (another note stays as it is), the high watermark that the leader knows,
-- rows answers what is stored afterwards, and the sizes before; or why the entries could not be dropped, and then the
-- note is gone
register('trim', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'start', 'sealed', 'epochs', 'sizes', 'trim')
  if not m[1] then return {'gone'} elseif m[1] ~= args[1] then return {'fenced', m[1]} end
  local ending, visible, _, last = unpackSealed(m[3])
  visible = math.max(visible, tonumber(args[3]))
  local noted = m[6] or ''
  local isNoted = string.match(noted, '^%d+') == args[2]
  local start, length, sizes, refused = finishTrim(keys[1], isNoted and noted or '', tonumber(m[2]), m[3], m[5])
  if refused then
    redis.call('HSET', keys[2], 'trim', '')
    return {'refused', refused}
  end
  if redis.call('EXISTS', keys[1]) == 0 and start > tonumber(m[2]) then makeEmpty(keys[1]) end
  local epochs, sealed = living(m[4], start), packSealed(ending, visible, length, last)
  redis.call('HSET', keys[2], 'start', whole(start), 'trim', isNoted and '' or noted, 'sealed', sealed, 'epochs', epochs, 'sizes', sizes)
  applyFields(keys[3], args, 4)
  return {'trimmed', whole(start), epochs, sealed, sizes, m[5]}
end)

-- Gives up the lost records, which adds nothing. Where meta is gone, the newest entry says where the log ended.
-- keys: batches meta rows   args: an epoch and an end that the next ones must not be below
register('remake', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'sealed', 'floor')
  local epoch, ending = tonumber(args[1]), tonumber(args[2])
  local length = redis.call('XLEN', keys[1])
  if m[1] then
    local sealedEnd, _, expected = unpackSealed(m[2])
    if length > 0 or expected == 0 then return {'kept'} end
    epoch = math.max(epoch, tonumber(m[1]))
    ending = math.max(ending, sealedEnd, tonumber(m[3] or 0))
  elseif length > 0 then
    local newest = redis.call('XREVRANGE', keys[1], '+', '-', 'COUNT', 1)[1]
    local high, low = pair(newest[1])
    epoch = math.max(epoch, high)
    if #newest[2][2] >= 12 then -- the span, as entry.ts draws it
      local a, b, c, d = string.byte(newest[2][2], 9, 12)
      ending = math.max(ending, low - 1 + ((a * 256 + b) * 256 + c) * 256 + d)
    end
  end
  redis.call('DEL', keys[1], keys[2], keys[3])
  makeEmpty(keys[1])
  keepRows(keys[3])
  -- Epochs that are not known here may have been in use.
  redis.call('HSET', keys[2], 'epoch', whole(epoch + 1000), 'epochs', '', 'start', whole(ending),
    'sealed', packSealed(ending, ending, 0, '0-1'), 'sizes', '')
  return {'remade', whole(ending)}
end)

-- A write that a WAIT after it can count: what was written before it is then on the replicas too.
-- keys: meta   args: epoch
register('confirm', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[1], 'epoch', 'sealed')
  if not m[1] then return {'gone'} elseif m[1] ~= args[1] then return {'fenced', m[1]} end
  redis.call('HSET', keys[1], 'epoch', m[1])
  return {'confirmed', endOf(m[2])}
end)

-- After the store has lost the end of a log: offsets that somebody was told of are not used again by the next leader.
-- The end itself stays, or an append that a former leader has under way, at the end that it knew, would find its place
-- again.
-- keys: meta   args: floor, the caller's process, the last epoch that it led with
register('raise', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[1], 'sealed', 'floor', 'epoch', 'leader')
  if not m[1] then return {'gone'} end
  local ending, changes = endOf(m[1]), {}
  if math.max(tonumber(ending), tonumber(m[2] or 0)) < tonumber(args[1]) then append(changes, 'floor', args[1]) end
  if ledLast(m[4], tonumber(m[3]), args[2], args[3]) then append(changes, 'vouched', incarnation()) end
  callWith('HSET', keys[1], changes)
  return {'raised', ending}
end)

-- The last write of a leader that ends in order. Where it is found, nothing that came before it was lost.
-- keys: meta   args: epoch
register('settle', {'allow-oom'}, function(keys, args)
  if redis.call('HGET', keys[1], 'epoch') == args[1] then redis.call('HSET', keys[1], 'settled', args[1]) end
  return {'settled'}
end)

-- As `confirm`, for a broker that reads documents. keys: counter
register('touch', {'allow-oom'}, function(keys)
  return redis.call('HINCRBY', keys[1], 'touched', 1)
end)

-- Stands for a field of a document that is being deleted: so that one command changes all of it.
local DELETED = '\0\0ketch:deleted\0\0'

-- Compare-and-set of one document. Versions come from a counter beside the documents of its bucket that is never
-- deleted; where the store may have lost some of them, or all, it leaps over those. keys: document index counter args:
-- name, the version that is expected (0: it must not exist), '1' to remove it, the milliseconds that it is kept for
-- ('': until it is removed), changes
--
-- A document that Redis deletes by itself is not in the index: nothing would take its name out again. Where the user of
-- the broker may not let it expire, it is kept and listed like any other.
local function commit(keys, args)
  local version = redis.call('HGET', keys[1], 'version') or '0'
  if version ~= args[2] then
    -- A removal takes the document from the index. SADD asks whether it is in there: the broker's user may run no
    -- SISMEMBER.
    if version == '0' then
      if redis.call('SADD', keys[2], args[1]) == 0 then return {'lost', '0'} end
      redis.call('SREM', keys[2], args[1])
    end
    return {'conflict', version}
  end
  local replid = incarnation()
  local c = redis.call('HMGET', keys[3], 'replid', 'since')
  local former, since = c[1], tonumber(c[2] or 0)
  local raise = former == replid and 1 or 1000001
  -- A store that was emptied begins above whatever it may have given before: a thousand versions for each second since
  -- 1970.
  if not former then
    -- INFO, which the broker's user may run anyway.
    local microseconds = string.match(redis.call('INFO', 'server'), 'server_time_usec:(%d+)')
    raise = math.floor(tonumber(microseconds) / 1000)
  end
  local fresh = whole(redis.call('HINCRBY', keys[3], 'version', raise))
  if former ~= replid then
    since = tonumber(fresh)
    redis.call('HSET', keys[3], 'replid', replid, 'since', fresh)
  end
  -- The first one of this document in this incarnation: a torn one of before is written over.
  local isFirst = tonumber(version) < since
  if args[3] == '1' then
    -- A name without a document is passed over; a document without a name would not be found.
    redis.call('DEL', keys[1])
    redis.call('SREM', keys[2], args[1])
  else
    local keepMs = args[4]
    if keepMs == '' and isFirst then
      -- Redis keeps a command only where it changes something: a name that no document has sees to that.
      local filler = 'ketch:' .. replid .. ':' .. fresh
      redis.call('SADD', keys[2], args[1], filler)
      redis.call('SREM', keys[2], filler)
    elseif keepMs == '' then
      -- Also where it is listed already: a server that drops keys may have dropped the index.
      redis.call('SADD', keys[2], args[1])
    end
    local set, dropped = unpackFields(args, 5)
    for _, field in ipairs(dropped) do append(set, field, DELETED) end
    append(set, 'name', args[1], 'version', fresh)
    callWith('HSET', keys[1], set)
    callWith('HDEL', keys[1], dropped)
    if isFirst then restate(keys[1]) end
    if keepMs ~= '' and type(redis.pcall('PEXPIRE', keys[1], keepMs)) ~= 'number' then
      redis.call('SADD', keys[2], args[1])
    end
  end
  return {'committed', fresh}
end

register('commit', {}, commit)

-- The same, for changes that add nothing: signs of life and removals. A full Redis must not cost a broker its place in
-- the cluster, or no broker leads after an expiry and nothing is read either.
register('recommit', {'allow-oom'}, commit)

-- Documents whose place and shape the specification fixes: a hash of its own, or one member of a hash. Nothing else may
-- rest there, so that the version is a digest of what the document holds: equal contents have equal versions.
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

-- keys: the hash   args: the member ('' for the whole hash), the version that is expected, '1' to remove it, and the
-- member's value or changes of the hash
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
