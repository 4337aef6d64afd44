#!lua name=ketch_VERSION
-- A Function library (Redis 7.0) with the decisions that are made inside Redis. functions.ts loads it and replaces
-- VERSION by a digest of this text, so that brokers of two releases can share one Redis. docs/reference/redis-keys.md
-- describes the keys.
--
-- The payload of an append does not pass through these Functions. An append is
--
--   MULTI
--   FCALL arm                            notes how many entries there are
--   XADD batches NOMKSTREAM <id> ...     one for each batch, id = <epoch>-<base offset + 1>
--   FCALL seal                           decides: the entries count only if it returns 1
--   EXEC
--
-- Redis runs no other command between these. So all entries of the append exist if, and only if, the stream has grown
-- by their number between `arm` and `seal`. `arm` also makes sure that an entry of another program is not counted as
-- one of this append.
--
-- An entry above the last sealed one does not count: no reader sees it, and the next `open` deletes it.
--
-- A rewrite replaces a part of the log. XADD cannot insert below the newest entry, so the new entries go, in offset
-- order, to a second stream of the partition:
--
--   FCALL begin                          only if a pass begins: empties the older of the two streams
--   MULTI
--   FCALL arm
--   XADD cleaned<0|1> NOMKSTREAM <id> .. one for each batch, id = <epoch of the rewrite>-<base offset + 1>
--   FCALL rewrite                        decides: the field `cleaned` is what moves the log to the new entries
--   EXEC
--   FCALL shear                          deletes the old entries; `open` does it too if it did not happen
--
-- A pass begins at the log start again, while the entries of the pass before are still in use. So two streams take
-- turns: pass number g writes to cleaned<g modulo 2>. The log is
--
--   [start, B) in cleaned<g mod 2>     [B, F) in cleaned<(g - 1) mod 2>     [F, end) in batches
--
-- B is where the last rewrite ended, F where the pass before g ended. A new pass begins only if B has reached F.
-- A call gets the keys of cleaned0 and cleaned1 only if the stream was rewritten: while a slot migrates, a cluster
-- refuses a command that names a key that exists and a key that does not. If `open` lacks them, it asks for them.
--
-- Fields of meta:
-- - epoch: the current leader epoch.
-- - epochs: "<epoch>:<start>:<id of the newest entry before it> ...", ascending.
-- - start: the log start.
-- - sealed: see below.
-- - attempt: the attempt id of the last sealed append.
-- - replid: the incarnation of the store when the stream was last opened.
-- - sizes: the leader's statistics of entry sizes (sizes.ts).
-- - floor: clients were told offsets below it before the store lost them. Nothing is sealed until `open` has raised
--   the end.
-- - swept: the incarnation under which the voids were last swept.
-- - vouched: the incarnation in which the last leader, which led in an earlier one, has stored how far it had told
--   clients.
-- - empty: "<from> <to>": `open` raised the end from <from> to <to>. It is valid while <to> is the sealed end.
-- - leader: the process that led last. It may not have received the answer of its `open`.
-- - settled: the epoch of a leader that ended in order and told clients no further offsets.
-- - trim: "<start> <keep> <position> <offset>", see `intend`: what an unfinished trim deletes.
-- - cleaned: absent if the stream was never rewritten, else see `unpackCleaned`. A leader compares the whole text.
--
-- sealed is "<end> <visible> <length> <last>": the next offset, the high watermark, the number of entries that must
-- exist, and the id of the newest entry. It is one field because the leader remembers its text and `seal` compares
-- the whole text.
--
-- A Redis that is killed can leave a transaction torn in its append-only file, with later writes behind it. When
-- Redis loads the file the next time, the first part of the torn transaction runs after all, before the writes that
-- were made since (docs/decisions/0037). So
-- - each transaction is written so that its first part alone either changes nothing that counts or can be completed
--   later: one command decides;
-- - the first write under a new incarnation writes again everything that such a first part may have changed. That
--   overrides it.
-- A void is the range of ids between the newest entry before an epoch and that epoch. Entries in a void do not count.

-- Returns the number as text. Lua itself would write large numbers as 1e+15.
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

-- Returns a list of epochs, each with its start offset and the id of the newest entry before it ('' if an earlier
-- version wrote it).
local function unpackEpochs(epochs)
  local list = {}
  for epoch, from, before in string.gmatch(epochs, '(%d+):(%d+):?([%d-]*)') do
    list[#list + 1] = {epoch, tonumber(from), before}
  end
  return list
end

-- Returns the lowest id that an entry at this offset or above it can have.
local function idAt(epochs, offset)
  local list = unpackEpochs(epochs)
  local owner = list[1]
  for _, each in ipairs(list) do
    if each[2] <= offset then owner = each end
  end
  return owner[1] .. '-' .. whole(offset + 1)
end

-- Returns the epochs that own live offsets, and the newest epoch.
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

-- Deletes at most `most` entries between two ids, and returns their number. It reads one entry at a time, because
-- Redis copies the payload of each entry that it returns.
local function sweep(batches, from, to, most)
  for swept = 0, most - 1 do
    local stray = redis.call('XRANGE', batches, from, to, 'COUNT', 1)[1]
    if not stray then return swept end
    redis.call('XDEL', batches, stray[1])
  end
  return most
end

-- Writes the whole key again in one command. If the broker's Redis user may not do that, the key does not change.
local function restate(key)
  local dumped = redis.pcall('DUMP', key)
  if type(dumped) == 'string' then redis.pcall('RESTORE', key, '0', dumped, 'REPLACE') end
end

-- Returns the id of the incarnation. It changes with every start of a server and with every fail-over: earlier writes
-- may be lost then.
local function incarnation()
  return string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
end

-- Sets the last id of the stream, so that the next ids need only be above this one. Redis refuses it if the stream
-- has an entry above it; then `seal` detects that entry.
local function setLastId(batches, id)
  redis.pcall('XSETID', batches, id, 'ENTRIESADDED', redis.call('XLEN', batches), 'MAXDELETEDID', '0-0')
end

local function unpackSealed(sealed)
  local ending, visible, length, last = string.match(sealed or '', '^(%d+) (%d+) (%d+) (%S+)$')
  if not last then error({err = 'ERR the field sealed is not in a form that this version reads'}) end
  return tonumber(ending), tonumber(visible), tonumber(length), last
end

-- The field `cleaned` is "<generation> <sheared> <current> <former>". <sheared> is 0 until the entries below B are
-- deleted from the older streams. <current> and <former> are the two streams of rewritten entries, each as
-- "<to> <left> <right> <length> <last> <leads>":
-- - to: B, or F.
-- - left, right: the position (entry.ts) that the next entry of this stream would have, and the position of the first
--   entry behind `to`. They differ by the bytes that the rewrites have removed.
-- - length: the number of entries that must exist. last: the id of the newest.
-- - leads: like `epochs`, separated by commas: which leader has written from which offset on. It begins with an epoch 0
--   that has no entry, so that there is a void before the first leader too.
-- If B has reached F, <former> is only a copy of the place, and its stream has no entry that counts.
local function unpackCleaned(text)
  if not text then return nil end
  local words = {}
  for word in string.gmatch(text, '%S+') do words[#words + 1] = word end
  if #words ~= 14 then error({err = 'ERR the field cleaned is not in a form that this version reads'}) end
  local function part(at)
    return {to = tonumber(words[at]), left = tonumber(words[at + 1]), right = tonumber(words[at + 2]),
      length = tonumber(words[at + 3]), last = words[at + 4], leads = words[at + 5]}
  end
  return {generation = tonumber(words[1]), isSheared = words[2] == '1', current = part(3), former = part(9)}
end

local function packCleaned(cleaned)
  local words = {whole(cleaned.generation), cleaned.isSheared and '1' or '0'}
  for _, part in ipairs({cleaned.current, cleaned.former}) do
    for _, number in ipairs({part.to, part.left, part.right, part.length}) do words[#words + 1] = whole(number) end
    words[#words + 1] = part.last
    words[#words + 1] = part.leads
  end
  return table.concat(words, ' ')
end

-- Returns the field and its text for HSET; nothing if the stream was never rewritten.
local function withCleaned(cleaned)
  return cleaned and {'cleaned', packCleaned(cleaned)} or {}
end

-- Returns the keys of the current and of the former stream of rewritten entries, from the keys of all calls on a
-- stream that was rewritten: batches meta rows cleaned0 cleaned1.
local function cleanedKeys(keys, cleaned)
  local place = cleaned.generation % 2
  return keys[4 + place], keys[5 - place]
end

-- Notes that the log starts at this offset, where the first live entry has this position: nothing below it counts.
local function raiseCleaned(cleaned, start, position)
  local current, former = cleaned.current, cleaned.former
  if current.to > start then return end
  current.to, current.left, current.right, current.length = start, position, position, 0
  if former.to > start then return end
  former.to, former.left, former.right, former.length = start, position, position, 0
end

-- Deletes the entries of the older streams that rewrites have replaced. Returns the number of entries that must exist
-- in batches. Returns the error too if the broker's Redis user may not delete entries.
local function shear(keys, cleaned, epochs, length, last)
  local current, former = cleaned.current, cleaned.former
  local _, formerKey = cleanedKeys(keys, cleaned)
  local keep, dropped
  if current.to < former.to then
    keep = idAt(former.leads, current.to)
    dropped = redis.pcall('XTRIM', formerKey, 'MINID', '=', keep)
    if type(dropped) == 'table' then return length, dropped.err end
    former.length = above(keep, former.last) and 0 or former.length - dropped
  else
    dropped = redis.pcall('XTRIM', formerKey, 'MAXLEN', '=', '0')
    if type(dropped) == 'table' then return length, dropped.err end
    keep = idAt(epochs, current.to)
    dropped = redis.pcall('XTRIM', keys[1], 'MINID', '=', keep)
    if type(dropped) == 'table' then return length, dropped.err end
    -- If all entries are deleted, those that were lost before are no longer missing.
    length = above(keep, last) and 0 or length - dropped
  end
  cleaned.isSheared = true
  return length
end

local function endOf(sealed) return whole((unpackSealed(sealed))) end

local function packSealed(ending, visible, length, last)
  return whole(ending) .. ' ' .. whole(visible) .. ' ' .. whole(length) .. ' ' .. last
end

-- Returns the sizes (see sizes.ts) after a trim: the first live entry begins at `position`, and all entries before
-- `offset` are deleted.
local function cutSizes(sizes, position, offset, ending)
  local total, _, largest, largestAt, after = string.match(sizes, '^(%d+) (%d+) (%d+) (%-?%d+) (%d+)$')
  if not total then return sizes end
  if tonumber(largestAt) < tonumber(offset) then largest, largestAt, after = after, whole(ending - 1), '0' end
  return total .. ' ' .. position .. ' ' .. largest .. ' ' .. largestAt .. ' ' .. after
end

-- Deletes the entries that `intend` noted, and updates `cleaned`. Returns the log start, the number of entries that
-- must exist in batches, and the sizes. Returns the error too if the broker's Redis user may not delete entries.
local function finishTrim(keys, noted, start, sealed, sizes, cleaned)
  local ending, _, length, last = unpackSealed(sealed)
  local asked, keep, position, offset = string.match(noted or '', '^(%d+) (%d+%-%d+) (%d+) (%d+)$')
  if not asked or tonumber(asked) <= start then return start, length, sizes end
  asked = tonumber(asked)
  -- The streams whose entries all lie below the new start, and the one that contains it.
  local emptied, key, part = {}, keys[1], nil
  if cleaned then
    local currentKey, formerKey = cleanedKeys(keys, cleaned)
    if asked < cleaned.current.to then key, part = currentKey, cleaned.current
    elseif asked < cleaned.former.to then emptied, key, part = {currentKey}, formerKey, cleaned.former
    else emptied = {currentKey, formerKey} end
  end
  for _, each in ipairs(emptied) do
    local refused = redis.pcall('XTRIM', each, 'MAXLEN', '=', '0')
    if type(refused) == 'table' then return start, length, sizes, refused.err end
  end
  local dropped = redis.pcall('XTRIM', key, 'MINID', '=', keep)
  if type(dropped) == 'table' then return start, length, sizes, dropped.err end
  -- If all entries are deleted, those that were lost before are no longer missing.
  if part then part.length = above(keep, part.last) and 0 or part.length - dropped
  else length = above(keep, last) and 0 or length - dropped end
  if cleaned then raiseCleaned(cleaned, asked, tonumber(position)) end
  return asked, length, cutSizes(sizes, position, offset, ending)
end

local function makeEmpty(batches)
  redis.call('XADD', batches, '0-1', 'x', '')
  redis.call('XDEL', batches, '0-1')
end

-- Creates the key of the rows even if there are no rows. While a slot migrates, a cluster refuses a command that
-- names an existing key and a missing key, even if the missing key never existed.
local function keepRows(rows)
  if redis.call('EXISTS', rows) == 0 then redis.call('HSET', rows, '.', '') end
end

-- Calls the command with the arguments, at most 6,000 in one call (3,000 fields with their values), because Lua
-- cannot unpack more.
local function callWith(command, key, args)
  for i = 1, #args, 6000 do redis.call(command, key, unpack(args, i, math.min(#args, i + 5999))) end
end

-- Reads changes of fields from the arguments, from index `at` on: the number of fields to set, each of them with its
-- value, then the fields to delete. The arguments may be absent. Returns the list of fields to set, each followed by
-- its value, and the list of fields to delete.
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

-- Creates an empty stream if it does not exist.
-- keys: batches meta rows
register('create', {}, function(keys)
  if redis.call('HEXISTS', keys[2], 'epoch') == 1 then return {'exists'} end
  redis.call('DEL', keys[1], keys[2], keys[3])
  makeEmpty(keys[1])
  keepRows(keys[3])
  redis.call('HSET', keys[2], 'epoch', '0', 'epochs', '', 'start', '0', 'sealed', packSealed(0, 0, 0, '0-1'), 'sizes', '')
  return {'created'}
end)

-- Deletes the entries that a torn transaction left in the voids. `open` requests it once in each incarnation, for the
-- streams of rewritten entries first.
-- keys: the stream, meta
-- args: the index of the epoch to begin with, the most entries to delete, which stream it is: batches, current, former
-- returns the index to continue with (0: done), and the number of deleted entries
register('sweep', {'allow-oom'}, function(keys, args)
  local m, most, swept = redis.call('HMGET', keys[2], 'epochs', 'cleaned'), tonumber(args[2]), 0
  local cleaned = args[3] ~= 'batches' and unpackCleaned(m[2])
  local list = unpackEpochs(cleaned and cleaned[args[3]].leads or m[1] or '')
  local first = math.max(2, tonumber(args[1]))
  for i = first, #list do
    if i >= first + 16 * most then return {whole(i), whole(swept)} end
    local epoch, from, before = unpack(list[i])
    if before == '' then before = list[i - 1][1] .. '-' .. whole(from) end
    swept = swept + sweep(keys[1], '(' .. before, '(' .. epoch .. '-0', most - swept)
    -- More entries may lie before this epoch.
    if swept >= most then return {whole(i), whole(swept)} end
  end
  if args[3] == 'batches' and #list > 0 then redis.call('HSET', keys[2], 'swept', incarnation()) end
  return {'0', whole(swept)}
end)

-- Returns true if this server has taken over from a primary since it was started. It may lack the last writes of that
-- primary.
local function wasReplica()
  return not string.match(redis.call('INFO', 'replication'), 'master_replid2:0+[\r\n]')
end

-- The number of offsets that `open` skips if the store may have lost offsets that clients know, and no broker can
-- tell which.
local LEAP = 100000000

-- Returns true if the caller was the last leader that the store remembers, or if it led with the stored epoch or a
-- later one that the store has lost. Then no other process knows more.
local function ledLast(leader, epoch, caller, itsEpoch) return leader == caller or tonumber(itsEpoch) >= epoch end

-- Finishes a rewrite that was torn between its rows and the field `cleaned`, if all its entries exist. Returns the
-- state and the sizes after it.
local function finishRewrite(keys, cleaned, text, sizes)
  local noted = redis.call('HGET', keys[3], '.') or ''
  local before, after, itsSizes = string.match(noted, '^([^\n]*)\n([^\n]*)\n([^\n]*)\nrewrite$')
  if before ~= text then return cleaned, sizes end
  local finished = unpackCleaned(after)
  local key = cleanedKeys(keys, finished)
  if redis.call('XLEN', key) ~= finished.current.length then return cleaned, sizes end
  return finished, itsSizes
end

-- Takes the lead, or settles an unknown outcome. It raises the epoch and repairs damage.
-- keys: batches meta rows, and cleaned0 cleaned1 if the stream was rewritten
-- args: the epoch that the caller knows (0: none), floor, '1' if all entries are visible at once, the caller's
-- process, the last epoch that the caller led with (0: none), '1' if the caller waits for a broker that vouches, '1'
-- if Redis syncs its file before it replies
-- It must work on a full Redis: repairs free memory, and a lead must not depend on free memory.
register('open', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'epochs', 'start', 'sealed', 'attempt', 'replid', 'sizes', 'floor', 'swept',
    'vouched', 'settled', 'leader', 'empty', 'trim', 'cleaned')
  if not m[1] then return {'gone'} end
  local epoch, known = tonumber(m[1]), tonumber(args[1])
  if known > 0 and epoch > known then return {'fenced', m[1]} end
  local cleaned = unpackCleaned(m[15])
  if cleaned and not keys[5] then return {'cleaned'} end
  local replid = incarnation()
  if m[9] ~= replid and (cleaned or #unpackEpochs(m[2]) > 1) then return {'unswept', m[15] or ''} end
  -- The store may have lost the last appends and even a later lead. The end is certain only if the caller led last,
  -- if the last leader has vouched since, or if it ended in order.
  local renewed, leap = m[6] and m[6] ~= replid, 0
  local isVouched = ledLast(m[12], epoch, args[4], args[5]) or (m[10] and m[10] ~= m[6]) or m[11] == m[1]
  -- A server that syncs each write and did not take over from another primary has lost no write that it acknowledged.
  local isWhole = args[7] == '1' and not wasReplica()
  if renewed and not isVouched and not isWhole then
    if args[6] == '1' then return {'unvouched'} end
    leap = LEAP
  end
  local formerEnd, visible, expected, last = unpackSealed(m[4])
  local attempt, sizes = m[5] or '', m[7] or ''

  keepRows(keys[3])
  -- Finishes an append that was torn between its rows and its seal, if all its entries exist.
  local torn, itsAttempt, itsSizes = string.match(redis.call('HGET', keys[3], '.') or '', '^([^\n]*)\n([^\n]*)\n([^\n]*)$')
  if torn then
    local itsEnd, itsVisible, itsLength, itsLast = unpackSealed(torn)
    if itsEnd > formerEnd and pair(itsLast) == epoch and redis.call('XLEN', keys[1]) == itsLength then
      formerEnd, visible, expected, last, attempt, sizes = itsEnd, itsVisible, itsLength, itsLast, itsAttempt, itsSizes
    end
  end
  local swept, start = sweep(keys[1], '(' .. last, '+', math.huge), tonumber(m[3])
  local currentKey, formerKey
  if cleaned then
    cleaned, sizes = finishRewrite(keys, cleaned, m[15], sizes)
    currentKey, formerKey = cleanedKeys(keys, cleaned)
    swept = swept + sweep(currentKey, '(' .. cleaned.current.last, '+', math.huge)
    if cleaned.current.to < cleaned.former.to then
      swept = swept + sweep(formerKey, '(' .. cleaned.former.last, '+', math.huge)
    elseif redis.call('XLEN', formerKey) > 0 then
      cleaned.isSheared = false
    end
    -- Only the first part of a torn `begin` that a later start of Redis has run can leave it below the start.
    raiseCleaned(cleaned, start, tonumber(string.match(sizes, '^%d+ (%d+)') or 0))
  end
  local former = packSealed(formerEnd, visible, expected, last)
  local trimmed, left, cut, refused = finishTrim(keys, m[14], start, former, sizes, cleaned)
  local isCut = trimmed > start
  start, expected, sizes = trimmed, left, cut
  if cleaned and not cleaned.isSheared then
    expected = shear(keys, cleaned, m[2], expected, last)
    isCut = true
  end
  -- A torn trim or shear may have deleted its entries without updating the length.
  local length = redis.call('XLEN', keys[1])
  if isCut and length > 0 then expected = math.min(expected, length) end
  if redis.call('EXISTS', keys[1]) == 0 then makeEmpty(keys[1]) end
  -- For each stream of rewritten entries: how many are missing, and how many there are.
  local lengths = {}
  if cleaned then
    for _, each in ipairs({{currentKey, cleaned.current}, {formerKey, cleaned.former}}) do
      local key, part = each[1], each[2]
      local there = redis.call('XLEN', key)
      if part == cleaned.former and cleaned.current.to >= part.to then there = part.length end
      if isCut and there > 0 then part.length = math.min(part.length, there) end
      append(lengths, whole(part.length - there), whole(there))
      if there > 0 and there <= part.length then part.length = there end
      -- A key that is missing with its entries stays away, so that every reader sees the damage.
      if part.length == 0 and redis.call('EXISTS', key) == 0 then makeEmpty(key) end
    end
  end

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
  -- If all entries are gone, or if there are too many, the stored length does not change, so that the next `open`
  -- finds the damage too.
  local isCounted = length > 0 and length <= expected
  local sealed = packSealed(ending, visible, isCounted and length or expected, last)
  local rewrites = withCleaned(cleaned)
  redis.call('HSET', keys[2], 'epoch', whole(epoch), 'epochs', epochs, 'start', whole(start), 'trim', refused and m[14] or '', 'sealed', sealed,
    'replid', replid, 'swept', replid, 'attempt', attempt, 'sizes', sizes, 'empty', emptyFrom .. ' ' .. whole(ending), 'leader', args[4],
    unpack(rewrites))
  redis.call('HDEL', keys[2], 'floor', 'vouched')
  setLastId(keys[1], whole(epoch) .. '-0')
  return {'opened', whole(epoch), whole(start), epochs, sealed, attempt, sizes, replid, m[6] or '', whole(formerEnd), whole(swept),
    whole(expected - length), whole(length), whole(leap), emptyFrom, rewrites[2] or '', unpack(lengths)}
end)

-- The stream of the append in progress, and the number of its entries before the append. `arm` sets them and `seal`
-- reads them. No other call runs in between.
--
-- `arm` and `seal` run with every append. The payloads between them displace this code from the processor's caches,
-- so each access to memory is slow. For that reason they return a number if there is nothing to report (Redis looks
-- through a table to find its type), and take as few arguments as possible.
local armed, armedLength

-- The first command of an append. It notes the number of entries.
-- keys: batches
register('arm', {'no-writes'}, function(keys)
  armed, armedLength = keys[1], redis.call('XLEN', keys[1])
  return 1
end)

-- The last command of an append. It seals the append in its last lines. If it refuses the append, it deletes the
-- entries that the XADDs before it added: an entry with one of the append's own ids above the last sealed id can only
-- come from this append.
-- keys: batches meta rows
-- args: epoch, the sealed state that the leader knows, attempt, the sealed state after this append, sizes, the length
-- that the leader knows, number of ids, the ids, rows
-- returns 1, or the reason of the refusal
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
  -- The rows are written first: if Redis refuses them, the call ends here and nothing is sealed. The field '.' of the
  -- rows gets the new sealed state. `open` uses it to finish an append that was torn before the next command. If only
  -- the deletion of rows is torn off, that does no harm.
  local set, dropped = unpackFields(args, 9)
  append(set, '.', args[4] .. '\n' .. args[3] .. '\n' .. args[5])
  callWith('HSET', keys[3], set)
  redis.call('HSET', keys[2], 'sealed', args[4], 'attempt', args[3], 'sizes', args[5])
  callWith('HDEL', keys[3], dropped)
  return 1
end)

-- The first call of a trim. It notes what the second call deletes, which is sent directly behind it. The note is a
-- single command before the entries are deleted, so the append-only file has all of it or nothing. If the second call
-- is torn, `open` finishes the trim. A log start that is not above the stored one deletes nothing.
-- keys: meta
-- args: epoch, new log start, the high watermark that the leader knows, id of the first entry to keep, position of
-- that entry, its offset
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

-- The second call of a trim. Retention must work on a full Redis.
-- keys: batches meta rows, and cleaned0 cleaned1 if the stream was rewritten
-- args: epoch, the noted log start (a note with another log start does not change), the high watermark that the
-- leader knows, rows
-- returns the state that is stored afterwards and the sizes before; or the reason why the entries could not be
-- deleted, and then the note is removed
register('trim', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'start', 'sealed', 'epochs', 'sizes', 'trim', 'cleaned')
  if not m[1] then return {'gone'} elseif m[1] ~= args[1] then return {'fenced', m[1]} end
  local cleaned = unpackCleaned(m[7])
  local ending, visible, _, last = unpackSealed(m[3])
  visible = math.max(visible, tonumber(args[3]))
  local noted = m[6] or ''
  local isNoted = string.match(noted, '^%d+') == args[2]
  local start, length, sizes, refused = finishTrim(keys, isNoted and noted or '', tonumber(m[2]), m[3], m[5], cleaned)
  if refused then
    redis.call('HSET', keys[2], 'trim', '')
    return {'refused', refused}
  end
  if redis.call('EXISTS', keys[1]) == 0 and start > tonumber(m[2]) then makeEmpty(keys[1]) end
  local epochs, sealed = living(m[4], start), packSealed(ending, visible, length, last)
  local rewrites = withCleaned(cleaned)
  redis.call('HSET', keys[2], 'start', whole(start), 'trim', isNoted and '' or noted, 'sealed', sealed, 'epochs', epochs, 'sizes', sizes,
    unpack(rewrites))
  applyFields(keys[3], args, 4)
  return {'trimmed', whole(start), epochs, sealed, sizes, m[5], rewrites[2] or '', m[7] or ''}
end)

-- Begins a pass of rewrites: the older stream of rewritten entries becomes the current one, and is emptied.
-- keys: batches meta rows cleaned0 cleaned1
-- args: epoch, `cleaned` as the leader knows it ('' if absent), `cleaned` of the new pass
-- The field is written first. If the rest is torn off, the next `open` deletes the old entries, which are above the
-- newest one that the field names.
register('begin', {}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'cleaned')
  if not m[1] then return {'gone'} elseif m[1] ~= args[1] then return {'fenced', m[1]} end
  if (m[2] or '') ~= args[2] then return {'changed'} end
  local current, former = cleanedKeys(keys, unpackCleaned(args[3]))
  redis.call('HSET', keys[2], 'cleaned', args[3])
  redis.call('DEL', current)
  makeEmpty(current)
  if redis.call('EXISTS', former) == 0 then makeEmpty(former) end
  return {'begun'}
end)

-- The last command of a rewrite, like `seal` of an append. Its rows are written before `cleaned`, with a note by which
-- `open` finishes a rewrite that was torn between them.
-- keys: the current stream of rewritten entries, meta, rows
-- args: epoch, `cleaned` as the leader knows it, `cleaned` and sizes after this rewrite, number of ids, the ids, the
-- end as the leader knows it, rows
register('rewrite', {}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'cleaned', 'sealed')
  local before = armed == keys[1] and armedLength or -1
  armed = nil
  local current = unpackCleaned(args[2]).current
  local no
  if not m[1] then no = {'gone'}
  elseif m[1] ~= args[1] then no = {'fenced', m[1]}
  elseif m[2] ~= args[2] then no = {'changed'}
  -- A primary that was promoted unnoticed may lack appends, and a record that they replace must stay then.
  elseif unpackSealed(m[3]) < tonumber(args[7]) then no = {'changed'}
  elseif before ~= current.length then
    local isShort = before >= 0 and before < current.length
    no = isShort and {'short', whole(before)} or {'torn', 'it had ' .. whole(before) .. ' entries where ' .. whole(current.length) .. ' were expected'}
  else
    local there = redis.call('XLEN', keys[1])
    if there ~= before + args[5] then no = {'torn', 'it took ' .. whole(there - before) .. ' of ' .. args[5] .. ' entries'} end
  end
  if no then
    for id in string.gmatch(args[6], '%S+') do
      if above(id, current.last) then redis.call('XDEL', keys[1], id) end
    end
    if m[1] == args[1] then setLastId(keys[1], current.last) end
    return no
  end
  if args[8] then
    local set, dropped = unpackFields(args, 8)
    append(set, '.', table.concat({args[2], args[3], args[4], 'rewrite'}, '\n'))
    callWith('HSET', keys[3], set)
    redis.call('HSET', keys[2], 'cleaned', args[3], 'sizes', args[4])
    callWith('HDEL', keys[3], dropped)
  else
    redis.call('HSET', keys[2], 'cleaned', args[3], 'sizes', args[4])
  end
  return {'rewritten'}
end)

-- Deletes the entries that the rewrite before it has replaced. It is not part of the rewrite: a torn transaction could
-- then delete them at a second start of Redis, although `open` has found in between that the rewrite did not happen.
-- keys: batches meta rows cleaned0 cleaned1
-- args: epoch
-- returns the state that is stored afterwards, and the reason why the entries could not be deleted, or ''
register('shear', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'cleaned', 'sealed', 'epochs')
  if not m[1] then return {'gone'} elseif m[1] ~= args[1] then return {'fenced', m[1]} end
  local cleaned = unpackCleaned(m[2])
  if not cleaned or cleaned.isSheared then return {'sheared', m[2] or '', m[3], ''} end
  local ending, visible, expected, last = unpackSealed(m[3])
  local length, refused = shear(keys, cleaned, m[4], expected, last)
  local sealed = packSealed(ending, visible, length, last)
  local after = packCleaned(cleaned)
  redis.call('HSET', keys[2], 'cleaned', after, 'sealed', sealed)
  return {'sheared', after, sealed, refused or ''}
end)

-- Recreates the stream and gives up the lost records. It adds no data, so it works on a full Redis. If meta is gone,
-- the newest entries tell where the log ended.
-- keys: batches meta rows cleaned0 cleaned1
-- args: the lowest epoch and the lowest end that the stream may have
register('remake', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[2], 'epoch', 'sealed', 'floor', 'cleaned')
  local epoch, ending = tonumber(args[1]), tonumber(args[2])
  if m[1] then
    local sealedEnd, _, expected = unpackSealed(m[2])
    local parts, cleaned = {{keys[1], expected}}, unpackCleaned(m[4])
    if cleaned then
      local currentKey, formerKey = cleanedKeys(keys, cleaned)
      append(parts, {currentKey, cleaned.current.length})
      if cleaned.current.to < cleaned.former.to then append(parts, {formerKey, cleaned.former.length}) end
    end
    local isEmptied = false
    for _, part in ipairs(parts) do
      if part[2] > 0 and redis.call('XLEN', part[1]) == 0 then isEmptied = true end
    end
    if not isEmptied then return {'kept'} end
    epoch = math.max(epoch, tonumber(m[1]))
    ending = math.max(ending, sealedEnd, tonumber(m[3] or 0))
  else
    for _, key in ipairs({keys[1], keys[4], keys[5]}) do
      local newest = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
      if newest then
        local high, low = pair(newest[1])
        epoch = math.max(epoch, high)
        if #newest[2][2] >= 12 then -- the span, as entry.ts draws it
          local a, b, c, d = string.byte(newest[2][2], 9, 12)
          ending = math.max(ending, low - 1 + ((a * 256 + b) * 256 + c) * 256 + d)
        end
      end
    end
  end
  redis.call('DEL', unpack(keys))
  makeEmpty(keys[1])
  keepRows(keys[3])
  -- Later epochs that this server does not know may have been in use.
  redis.call('HSET', keys[2], 'epoch', whole(epoch + 1000), 'epochs', '', 'start', whole(ending),
    'sealed', packSealed(ending, ending, 0, '0-1'), 'sizes', '')
  return {'remade', whole(ending)}
end)

-- Writes a field without changing its value. A WAIT after it counts the replicas that have this write, and so all
-- writes before it.
-- keys: meta
-- args: epoch
register('confirm', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[1], 'epoch', 'sealed')
  if not m[1] then return {'gone'} elseif m[1] ~= args[1] then return {'fenced', m[1]} end
  redis.call('HSET', keys[1], 'epoch', m[1])
  return {'confirmed', endOf(m[2])}
end)

-- Makes sure, after the store has lost the end of a log, that the next leader does not use offsets again that clients
-- were told. The end itself does not change: otherwise an append that a former leader has in flight at its old end
-- would fit again.
-- keys: meta
-- args: floor, the caller's process, the last epoch that the caller led with
register('raise', {'allow-oom'}, function(keys, args)
  local m = redis.call('HMGET', keys[1], 'sealed', 'floor', 'epoch', 'leader')
  if not m[1] then return {'gone'} end
  local ending, changes = endOf(m[1]), {}
  if math.max(tonumber(ending), tonumber(m[2] or 0)) < tonumber(args[1]) then append(changes, 'floor', args[1]) end
  if ledLast(m[4], tonumber(m[3]), args[2], args[3]) then append(changes, 'vouched', incarnation()) end
  callWith('HSET', keys[1], changes)
  return {'raised', ending}
end)

-- The last write of a leader that ends in order. If the server has it, it has lost no earlier write.
-- keys: meta
-- args: epoch
register('settle', {'allow-oom'}, function(keys, args)
  if redis.call('HGET', keys[1], 'epoch') == args[1] then redis.call('HSET', keys[1], 'settled', args[1]) end
  return {'settled'}
end)

-- Like `confirm`, for a broker that reads documents.
-- keys: counter
register('touch', {'allow-oom'}, function(keys)
  return redis.call('HINCRBY', keys[1], 'touched', 1)
end)

-- The value of a document's field that is being deleted. With it one command changes all fields of the document.
local DELETED = '\0\0ketch:deleted\0\0'

-- Changes one document by compare-and-set. Versions come from a counter that all documents of the bucket share and
-- that is never deleted. If the store may have lost some versions, or all of them, the counter skips them.
-- keys: document index counter
-- args: name, the expected version (0: the document must not exist), '1' to remove it, the milliseconds to keep it
-- ('': until it is removed), changes
--
-- A document that expires is not in the index, because Redis would not remove its name from there. If the broker's
-- Redis user may not set an expiry, the document is stored and listed like any other.
local function commit(keys, args)
  local version = redis.call('HGET', keys[1], 'version') or '0'
  if version ~= args[2] then
    -- A removal takes the name from the index, so a name without a document shows a loss. SADD tells if the name is
    -- in the index: the broker's Redis user may not run SISMEMBER.
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
  -- After the store was emptied, versions begin above all earlier versions: a thousand versions for each second since
  -- 1970.
  if not former then
    -- The broker's Redis user may run INFO in any case.
    local microseconds = string.match(redis.call('INFO', 'server'), 'server_time_usec:(%d+)')
    raise = math.floor(tonumber(microseconds) / 1000)
  end
  local fresh = whole(redis.call('HINCRBY', keys[3], 'version', raise))
  if former ~= replid then
    since = tonumber(fresh)
    redis.call('HSET', keys[3], 'replid', replid, 'since', fresh)
  end
  -- The first commit of this document in this incarnation: it overwrites a torn commit of an earlier one.
  local isFirst = tonumber(version) < since
  if args[3] == '1' then
    -- The document is deleted before its name: readers skip a name without a document, but a document without a name
    -- would not be found.
    redis.call('DEL', keys[1])
    redis.call('SREM', keys[2], args[1])
  else
    local keepMs = args[4]
    if keepMs == '' and isFirst then
      -- Redis writes a command to its file only if it changes something. A name that no document has makes sure of
      -- that.
      local filler = 'ketch:' .. replid .. ':' .. fresh
      redis.call('SADD', keys[2], args[1], filler)
      redis.call('SREM', keys[2], filler)
    elseif keepMs == '' then
      -- The name is added even if it should be in the index: a server that evicts keys may have evicted the index.
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
  return {'committed', fresh, replid}
end

register('commit', {}, commit)

-- The same as `commit`, for changes that add no data: signs of life and removals. They must work on a full Redis:
-- otherwise a broker would expire from the cluster, no broker would lead, and clients could not even read.
register('recommit', {'allow-oom'}, commit)

-- Returns the version of a document whose key and form the specification fixes: a hash of its own, or one member of a
-- hash. Nothing else may be stored there, so the version is a digest of the document's content: equal contents have
-- equal versions.
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

-- Changes such a document by compare-and-set.
-- keys: the hash
-- args: the member ('' for the whole hash), the expected version, '1' to remove it, and the member's value or changes
-- of the hash
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

-- The same as `place`, for removals, which add no data.
register('displace', {'allow-oom'}, place)

-- Raises the format of the store if it is still the one before. It works on a full Redis.
-- keys: format
-- args: the format before, the new one
register('raiseformat', {'allow-oom'}, function(keys, args)
  if redis.call('GET', keys[1]) == args[1] then redis.call('SET', keys[1], args[2]) end
  return {redis.call('GET', keys[1])}
end)
