#!lua name=@LIBRARY@

-- The account of a key as one packed string, and the decision about a request in one call. Every rule is that of the
-- in-process limiter; requests in flight past their deadline are forgotten, because their node may be gone.

local WINDOW = 60000
local MAX_WEIGHT = 1024
local WORD = 4294967296
local CREDIT = 60000
local MINUTE_NS = 60000000000
local LONGEST_TTL = 4398046511104
local GIVEN_TIME_TTL = 60000
-- Whole numbers up to this are exact.
local MOST = 9007199254740992

-- Limits by number, and their bits in sets.
local STANDARD, SEARCH, READS, WRITES, COST = 1, 2, 3, 4, 5
local BITS = { 1, 2, 4, 8, 16 }
local TOTALS = { STANDARD, SEARCH, COST }

-- Flag of a request.
local WANT_NEXT = 1

local FORMAT = 1
local HEADER = '>BddI4I4I4dI4I4I4I4I4'
local HEADER_BYTES = 57
local REQUEST = '>dBBI4I4I4I4I4I4I4I4I4I4d'
local SETTLEMENT = '>dI4I4dI4I4I4dd'
local SHARE = '>Bd'
local OWNER = '>dddd'
local OWNER_BYTES = 32


-- Returns the time in milliseconds: the given one, or that of the server.
local function time(given)
    if given >= 0 then
        return given
    end
    local now = redis.call('TIME')
    return now[1] * 1000 + math.floor(now[2] / 1000)
end

-- Stamps: the low 32 bits of times, in order, four bytes each.

local function stamp(now)
    return struct.pack('>I4', now % WORD)
end

-- Returns the milliseconds for which the i-th stamp (from 1) still counts.
local function left(stamps, i, low)
    local a, b, c, d = string.byte(stamps, i * 4 - 3, i * 4)
    local age = (low - (((a * 256 + b) * 256 + c) * 256 + d)) % WORD
    return age < WINDOW and WINDOW - age or 0
end

-- Returns the stamps that still count.
local function trimmed(stamps, low)
    local n = #stamps / 4
    if n == 0 or left(stamps, 1, low) > 0 then
        return stamps
    end
    local old, live = 1, n + 1
    while live - old > 1 do
        local middle = math.floor((old + live) / 2)
        if left(stamps, middle, low) > 0 then
            live = middle
        else
            old = middle
        end
    end
    return string.sub(stamps, live * 4 - 3)
end

-- Deadlines: in order, eight bytes each.

local function deadline_at(deadlines, i)
    return (struct.unpack('>d', deadlines, i * 8 - 7))
end

-- Returns the number of deadlines that are at most `bound`.
local function deadlines_until(deadlines, bound)
    local low, high = 0, #deadlines / 8
    while low < high do
        local middle = math.floor((low + high + 1) / 2)
        if deadline_at(deadlines, middle) <= bound then
            low = middle
        else
            high = middle - 1
        end
    end
    return low
end

local function with_deadlines(deadlines, deadline, n)
    if n == 0 then
        return deadlines
    end
    local at = deadlines_until(deadlines, deadline) * 8
    return string.sub(deadlines, 1, at) .. string.rep(struct.pack('>d', deadline), n) .. string.sub(deadlines, at + 1)
end

local function without_deadlines(deadlines, deadline, n)
    local last = deadlines_until(deadlines, deadline)
    local first = last
    while first > last - n and first > 0 and deadline_at(deadlines, first) == deadline do
        first = first - 1
    end
    return string.sub(deadlines, 1, first * 8) .. string.sub(deadlines, last * 8 + 1)
end

-- Returns the wait for slots: until every request in flight has ended, or as long as a request may take.
local function wait_for_slots(deadlines, more, cap, now, otherwise)
    local running = #deadlines / 8
    if more == 0 or running + more <= cap then
        return 0
    end
    local wait = running > 0 and deadline_at(deadlines, running) - now or otherwise
    return math.max(wait, 1)
end

-- Accounts.

-- Returns what a key has if it is text, and nothing if the key is missing or has something else.
local function text_of(key)
    local found = redis.pcall('GET', key)
    return type(found) == 'string' and found or nil
end

-- Returns true for numbers as these functions write them: whole, exact and not negative. No other compares equal.
local function are_whole(...)
    for i = 1, select('#', ...) do
        local n = select(i, ...)
        if not (n >= 0 and n <= MOST and n == math.floor(n)) then
            return false
        end
    end
    return true
end

-- Returns true if all deadlines are whole numbers in order.
local function are_deadlines(deadlines)
    local last = 0
    for i = 1, #deadlines / 8 do
        local deadline = deadline_at(deadlines, i)
        if not are_whole(deadline) or deadline < last then
            return false
        end
        last = deadline
    end
    return true
end

local function new_account()
    return {
        last = 0, spent = 0, rate = 0, remembered = 0, held = 0, held_since = 0,
        admitted = '', refused = '', searches = '', reads = '', writes = '', is_new = true,
    }
end

-- Reads an account. A value that these functions did not write is a new one.
local function read_account(key)
    local packed = text_of(key)
    if not packed or #packed < HEADER_BYTES then
        return new_account()
    end
    local format, last, spent, rate, remembered, held, held_since, admitted, refused, searches, reads, writes, at =
        struct.unpack(HEADER, packed)
    local bytes = HEADER_BYTES + (admitted + refused + searches) * 4 + (reads + writes) * 8
    if format ~= FORMAT or #packed ~= bytes or not are_whole(last, spent) or held_since ~= math.floor(held_since)
        or math.abs(held_since) > MOST then
        return new_account()
    end
    local function part(bytes)
        local from = at
        at = at + bytes
        return bytes == 0 and '' or string.sub(packed, from, at - 1)
    end
    local account = {
        last = last, spent = spent, rate = rate, remembered = remembered, held = held, held_since = held_since,
        admitted = part(admitted * 4), refused = part(refused * 4), searches = part(searches * 4),
        reads = part(reads * 8), writes = part(writes * 8),
    }
    if not are_deadlines(account.reads) or not are_deadlines(account.writes) then
        return new_account()
    end
    return account
end

-- Stores an account for as long as it differs from a new one, and for a minute at least: no stamp counts for longer, and
-- its time must not be forgotten sooner, or a clock that steps back would gain something. A given time does not pass as
-- that of the server does: then it is stored for longer.
local function write_account(key, account, given)
    local now, ttl = account.last, WINDOW
    local reads, writes = #account.reads / 8, #account.writes / 8
    if reads > 0 then
        ttl = math.max(ttl, deadline_at(account.reads, reads) - now)
    end
    if writes > 0 then
        ttl = math.max(ttl, deadline_at(account.writes, writes) - now)
    end
    if account.spent > 0 and account.rate > 0 then
        ttl = math.max(ttl, math.ceil(account.spent / account.rate))
    end
    local header = struct.pack(HEADER, FORMAT, now, account.spent, account.rate, account.remembered, account.held,
        account.held_since, #account.admitted / 4, #account.refused / 4, #account.searches / 4, reads, writes)
    redis.call('SET', key, header .. account.admitted .. account.refused .. account.searches .. account.reads
        .. account.writes, 'PX', math.min(ttl, LONGEST_TTL) + (given >= 0 and GIVEN_TIME_TTL or 0))
end

-- Moves stamps by a time that has stepped back.
local function moved_stamps(stamps, step)
    local moved = {}
    for i = 1, #stamps / 4 do
        moved[i] = stamp(struct.unpack('>I4', stamps, i * 4 - 3) - step)
    end
    return table.concat(moved)
end

local function moved_deadlines(deadlines, step)
    local moved = {}
    for i = 1, #deadlines / 8 do
        moved[i] = struct.pack('>d', deadline_at(deadlines, i) - step)
    end
    return table.concat(moved)
end

-- Moves an account to a time, which is never before the last one, and returns it. If the clock of the server has stepped
-- back so far that waiting for it would be longer than any wait, the account goes on from there as it was.
local function advance(account, now, given)
    local silence = now - account.last
    if given < 0 and silence < -WINDOW then
        local step = -silence
        account.last, account.held_since = now, account.held_since - step
        account.admitted = moved_stamps(account.admitted, step)
        account.refused = moved_stamps(account.refused, step)
        account.searches = moved_stamps(account.searches, step)
        account.reads, account.writes = moved_deadlines(account.reads, step), moved_deadlines(account.writes, step)
        silence = 0
    end
    if silence <= 0 then
        now = account.last
    else
        account.last = now
        if silence >= WINDOW then
            account.admitted, account.refused, account.searches = '', '', ''
        else
            local low = now % WORD
            account.admitted = trimmed(account.admitted, low)
            account.refused = trimmed(account.refused, low)
            account.searches = trimmed(account.searches, low)
        end
        account.spent = math.max(0, account.spent - silence * account.rate)
    end
    if account.held > 0 and now - account.held_since >= WINDOW then
        account.held = 0
    end
    if account.reads ~= '' then
        account.reads = string.sub(account.reads, deadlines_until(account.reads, now) * 8 + 1)
    end
    if account.writes ~= '' then
        account.writes = string.sub(account.writes, deadlines_until(account.writes, now) * 8 + 1)
    end
    return now
end

-- Returns the number of the oldest stamps that must expire before a weight fits; nothing if it never does.
local function over(used, quota, weight)
    if weight == 0 then
        return 0
    elseif weight > MAX_WEIGHT or weight > quota then
        return nil
    end
    return math.max(0, used + weight - quota)
end

-- Counts an attempt against the standard quota and returns true if it is admitted.
local function charge(account, request, now)
    local weight, remembered = request.weight, request.remembered
    if weight == 0 then
        return true
    end
    local refused = #account.refused / 4
    if remembered < account.remembered then
        account.held, account.held_since = refused, now
    end
    account.remembered = remembered
    if over(#account.admitted / 4 + refused, request.quota, weight) == 0 then
        account.admitted = account.admitted .. string.rep(stamp(now), weight)
        return true
    end
    local room = math.max(remembered, account.held)
    weight = math.min(weight, MAX_WEIGHT, room)
    local surplus = math.max(0, refused + weight - room)
    account.refused = string.sub(account.refused, surplus * 4 + 1) .. string.rep(stamp(now), weight)
    return false
end

local function charge_searches(account, request, now)
    local searches = request.searches
    if over(#account.searches / 4, request.search_quota, searches) ~= 0 then
        return false
    end
    account.searches = account.searches .. string.rep(stamp(now), searches)
    return true
end

-- Returns the milliseconds until the n-th oldest stamp of two lists has expired. A binary search finds how many of the
-- n oldest are of the first list.
local function expiry(first, second, n, low)
    local firsts, seconds = #first / 4, #second / 4
    local from, to = math.max(0, n - seconds), math.min(n, firsts)
    while from < to do
        local taken = from + math.floor((to - from) / 2)
        if left(first, taken + 1, low) < left(second, n - taken, low) then
            from = taken + 1
        else
            to = taken
        end
    end
    local wait = 0
    if from > 0 then
        wait = left(first, from, low)
    end
    if n > from then
        wait = math.max(wait, left(second, n - from, low))
    end
    return wait
end

local function wait_for_quota(first, second, quota, weight, low)
    local n = over(#first / 4 + #second / 4, quota, weight)
    if not n then
        return WINDOW
    elseif n == 0 then
        return 0
    end
    return expiry(first, second, n, low)
end

local function wait_for_credit(account, cost)
    local debt = account.spent - cost * CREDIT
    return debt < 0 and 0 or math.floor(debt / cost) + 1
end

-- Returns the longest wait of the same request, were it made again, over the limits that refuse.
local function longest(account, request)
    local now, shadow, wait = account.last, request.shadow, 0
    local low = now % WORD
    if bit.band(shadow, BITS[STANDARD]) == 0 then
        wait = wait_for_quota(account.admitted, account.refused, request.quota, request.weight, low)
    end
    if bit.band(shadow, BITS[SEARCH]) == 0 then
        wait = math.max(wait, wait_for_quota(account.searches, '', request.search_quota, request.searches, low))
    end
    if bit.band(shadow, BITS[READS]) == 0 then
        wait = math.max(wait, wait_for_slots(account.reads, request.reads, request.read_cap, now, request.deadline))
    end
    if bit.band(shadow, BITS[WRITES]) == 0 then
        wait = math.max(wait, wait_for_slots(account.writes, request.writes, request.write_cap, now, request.deadline))
    end
    if request.cost > 0 and bit.band(shadow, BITS[COST]) == 0 then
        wait = math.max(wait, wait_for_credit(account, request.cost))
    end
    return wait
end

-- Totals of an owner: the nanoseconds in which each drains.

local function read_owner(key, now, given)
    local packed = text_of(key)
    if not packed or #packed ~= OWNER_BYTES then
        return { at = now, 0, 0, 0 }
    end
    local at, standard, search, cost = struct.unpack(OWNER, packed)
    if not are_whole(at, standard, search, cost) then
        return { at = now, 0, 0, 0 }
    end
    local has_stepped = given < 0 and at - now > WINDOW
    if has_stepped then
        at = now
    end
    local drained = math.max(0, now - at) * 1000000
    return {
        at = math.max(at, now), has_stepped = has_stepped,
        math.max(0, standard - drained), math.max(0, search - drained), math.max(0, cost - drained),
    }
end

local function write_owner(key, owner, given)
    local most = math.max(owner[1], owner[2], owner[3])
    if most > 0 then
        redis.call('SET', key, struct.pack(OWNER, owner.at, owner[1], owner[2], owner[3]), 'PX',
            math.min(math.ceil(most / 1000000), LONGEST_TTL) + (given >= 0 and GIVEN_TIME_TTL or 0))
    end
end

-- Returns the first total without room, and the milliseconds after which all of them have room.
local function owner_refusal(owner, shares)
    local first, wait = 0, 0
    for i = 1, 3 do
        local share = shares[i]
        if share.kind > 0 then
            local excess = owner[i] + math.min(math.max(share.time, 1), MINUTE_NS) - MINUTE_NS
            if share.kind == 2 then
                excess = MINUTE_NS
            end
            if excess > 0 then
                first = first == 0 and TOTALS[i] or first
                wait = math.max(wait, excess)
            end
        end
    end
    return first, math.ceil(wait / 1000000)
end

local function read_shares(packed, at)
    local shares = {}
    for i = 1, 3 do
        local kind, share_time
        kind, share_time, at = struct.unpack(SHARE, packed, at)
        shares[i] = { kind = kind, time = share_time }
    end
    return shares
end

-- Decides about a request. The reply to one that is admitted is 0, the time, the limits in shadow mode that would have
-- refused it, and the wait of the same request were it made again, if that was asked for; to one that is refused, the
-- number of the limit, the wait, and the limits in shadow mode.
local function admit(keys, args)
    local request, given, at = {}, nil, nil
    given, request.flags, request.shadow, request.quota, request.weight, request.remembered, request.search_quota,
        request.searches, request.reads, request.read_cap, request.writes, request.write_cap, request.cost,
        request.deadline, at = struct.unpack(REQUEST, args[1])
    local account = read_account(keys[1])
    local now = advance(account, time(given), given)

    local first, shadowed = 0, 0
    local function exceeds(limit)
        if bit.band(request.shadow, BITS[limit]) ~= 0 then
            shadowed = shadowed + BITS[limit]
        elseif first == 0 then
            first = limit
        end
    end
    if not charge(account, request, now) then
        exceeds(STANDARD)
    end
    if request.searches > 0 and not charge_searches(account, request, now) then
        exceeds(SEARCH)
    end
    if request.reads > 0 and #account.reads / 8 + request.reads > request.read_cap then
        exceeds(READS)
    end
    if request.writes > 0 and #account.writes / 8 + request.writes > request.write_cap then
        exceeds(WRITES)
    end
    if request.cost > 0 then
        account.rate = request.cost
        if account.spent >= request.cost * CREDIT then
            exceeds(COST)
        end
    end

    local owner, owner_wait, shares = nil, 0, nil
    if keys[2] then
        owner, shares = read_owner(keys[2], now, given), read_shares(args[1], at)
        local owner_first
        owner_first, owner_wait = owner_refusal(owner, shares)
        if first == 0 then
            first = owner_first
        end
    end

    if first > 0 then
        local wait = math.max(longest(account, request), owner_wait, 1)
        write_account(keys[1], account, given)
        if owner and owner.has_stepped then
            write_owner(keys[2], owner, given)
        end
        return { first, wait, shadowed, 0 }
    end
    local next_wait = 0
    if bit.band(request.flags, WANT_NEXT) ~= 0 then
        next_wait = longest(account, request)
    end
    account.reads = with_deadlines(account.reads, now + request.deadline, request.reads)
    account.writes = with_deadlines(account.writes, now + request.deadline, request.writes)
    write_account(keys[1], account, given)
    if owner then
        for i = 1, 3 do
            owner[i] = math.min(owner[i] + shares[i].time, MOST)
        end
        write_owner(keys[2], owner, given)
    end
    return { 0, now, shadowed, next_wait }
end

-- Takes the cost of a request, frees its slots, or takes its charge back.
local function settle(keys, args)
    local given, cost, rate, deadline, reads, writes, undone, undone_at, owner_time =
        struct.unpack(SETTLEMENT, args[1])
    local account = read_account(keys[1])
    local now = advance(account, time(given), given)
    account.spent = math.min(account.spent + cost * CREDIT, MOST)
    if account.rate == 0 then
        account.rate = rate
    end
    if reads > 0 then
        account.reads = without_deadlines(account.reads, deadline, reads)
    end
    if writes > 0 then
        account.writes = without_deadlines(account.writes, deadline, writes)
    end
    if undone > 0 then
        local wanted, age = stamp(undone_at), now - undone_at
        for i = #account.admitted / 4, 1, -1 do
            if undone == 0 or age >= WINDOW then
                break
            elseif string.sub(account.admitted, i * 4 - 3, i * 4) == wanted then
                account.admitted = string.sub(account.admitted, 1, i * 4 - 4) .. string.sub(account.admitted, i * 4 + 1)
                undone = undone - 1
            end
        end
    end
    if cost > 0 or not account.is_new then
        write_account(keys[1], account, given)
    end
    if keys[2] and owner_time > 0 then
        local owner = read_owner(keys[2], now, given)
        owner[3] = math.min(owner[3] + owner_time, MOST)
        write_owner(keys[2], owner, given)
    end
    return 0
end

-- Returns the account of a key as it is now, or nothing. It changes nothing.
local function state(keys, args)
    local account = read_account(keys[1])
    if account.is_new then
        return nil
    end
    local given = struct.unpack('>d', args[1])
    advance(account, time(given), given)
    return struct.pack(HEADER, FORMAT, account.last, account.spent, account.rate, account.remembered, account.held,
        account.held_since, #account.admitted / 4, #account.refused / 4, #account.searches / 4, #account.reads / 8,
        #account.writes / 8) .. account.admitted .. account.refused .. account.searches .. account.reads
        .. account.writes
end

redis.register_function('@LIBRARY@_admit', admit)
redis.register_function('@LIBRARY@_settle', settle)
redis.register_function { function_name = '@LIBRARY@_state', callback = state, flags = { 'no-writes' } }
