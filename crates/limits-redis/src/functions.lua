#!lua name=@LIBRARY@

-- The account of a key as one packed string, and the decision about a request in one call. Every rule is that of the
-- in-process limiter; requests in flight past their deadline are forgotten, because their node may be gone.

local MINUTE = 60000
local MAX_WEIGHT = 1024
local WORD = 4294967296
local LONGEST_TTL = 4398046511104
local GIVEN_TIME_TTL = 60000
-- Whole numbers up to this are exact.
local MOST = 9007199254740992

-- Bits of sets of limits, which are numbered from 1: windows, then classes of requests in flight, then the cost.
local BITS = {}
for i = 1, 32 do
    BITS[i] = 2 ^ (i - 1)
end

-- Flag of a request.
local WANT_NEXT = 1

-- The form of accounts that older versions know, too: two windows of a minute, of which the second remembers nothing that
-- it refused, two classes, and a cost of a minute.
local PLAIN_FORMAT = 1
local PLAIN_HEADER = '>BddI4I4I4dI4I4I4I4I4'
local PLAIN_HEADER_BYTES = 57
-- The form of all others.
local FORMAT = 2
local HEADER = '>BdddI4BB'
local HEADER_BYTES = 31
local WINDOW_HEADER = '>I4BI4I4dI4I4'
local WINDOW_HEADER_BYTES = 29
local REQUEST = '>dBI4BBI4dd'
local WINDOW_OF_REQUEST = '>I4I4I4I4B'
local CLASS_OF_REQUEST = '>I4I4'
local SETTLEMENT = '>dI4I4ddI4dBd'
local SHARE = '>Bdd'


-- Returns the time in milliseconds: the given one, or that of the server.
local function time(given)
    if given >= 0 then
        return given
    end
    local now = redis.call('TIME')
    return now[1] * 1000 + math.floor(now[2] / 1000)
end

-- Stamps: the low 32 bits of the ticks of times, in order, four bytes each.

local function stamp(tick)
    return struct.pack('>I4', tick % WORD)
end

-- Returns the ticks for which the i-th stamp (from 1) still counts.
local function left(stamps, i, low, ticks)
    local a, b, c, d = string.byte(stamps, i * 4 - 3, i * 4)
    local age = (low - (((a * 256 + b) * 256 + c) * 256 + d)) % WORD
    return age < ticks and ticks - age or 0
end

-- Returns the stamps that still count.
local function trimmed(stamps, low, ticks)
    local n = #stamps / 4
    if n == 0 or left(stamps, 1, low, ticks) > 0 then
        return stamps
    end
    local old, live = 1, n + 1
    while live - old > 1 do
        local middle = math.floor((old + live) / 2)
        if left(stamps, middle, low, ticks) > 0 then
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

-- Returns the tick of a time.
local function tick_of(window, now)
    return window.shift == 0 and now or math.floor(now / window.tick_ms)
end

local function new_window(ticks, shift)
    return {
        ticks = ticks, tick_ms = 2 ^ shift, shift = shift, remembered = 0, held = 0, held_since = 0, admitted = '',
        refused = '',
    }
end

local function new_account()
    return { last = 0, spent = 0, rate = 0, credit = MINUTE, windows = {}, classes = {}, is_new = true }
end

local function are_moments(...)
    for i = 1, select('#', ...) do
        local n = select(i, ...)
        if n ~= math.floor(n) or math.abs(n) > MOST then
            return false
        end
    end
    return true
end

-- Reads the lists at the end of an account; nothing if they have another length, or deadlines are not in order.
local function read_lists(packed, at, account, stamps, deadlines)
    local bytes = at - 1
    for _, n in ipairs(stamps) do
        bytes = bytes + n * 4
    end
    for _, n in ipairs(deadlines) do
        bytes = bytes + n * 8
    end
    if #packed ~= bytes then
        return nil
    end
    local function part(bytes)
        local from = at
        at = at + bytes
        return bytes == 0 and '' or string.sub(packed, from, at - 1)
    end
    for i, window in ipairs(account.windows) do
        window.admitted, window.refused = part(stamps[i * 2 - 1] * 4), part(stamps[i * 2] * 4)
    end
    for i, n in ipairs(deadlines) do
        account.classes[i] = part(n * 8)
        if not are_deadlines(account.classes[i]) then
            return nil
        end
    end
    return account
end

local function read_plain(packed)
    local _, last, spent, rate, remembered, held, held_since, admitted, refused, searches, reads, writes, at =
        struct.unpack(PLAIN_HEADER, packed)
    local refused_at = at + admitted * 4
    local second_at = refused_at + refused * 4
    local reads_at = second_at + searches * 4
    local writes_at = reads_at + reads * 8
    if #packed ~= writes_at + writes * 8 - 1 or not are_whole(last, spent) or not are_moments(held_since) then
        return nil
    end
    local first_class, second_class = string.sub(packed, reads_at, writes_at - 1), string.sub(packed, writes_at)
    if not are_deadlines(first_class) or not are_deadlines(second_class) then
        return nil
    end
    return {
        last = last, spent = spent, rate = rate, credit = MINUTE,
        windows = {
            {
                ticks = MINUTE, tick_ms = 1, shift = 0, remembered = remembered, held = held, held_since = held_since,
                admitted = string.sub(packed, at, refused_at - 1),
                refused = string.sub(packed, refused_at, second_at - 1),
            },
            {
                ticks = MINUTE, tick_ms = 1, shift = 0, remembered = 0, held = 0, held_since = 0,
                admitted = string.sub(packed, second_at, reads_at - 1), refused = '',
            },
        },
        classes = { first_class, second_class },
    }
end

local function read_general(packed)
    local account, windows, classes, at, _ = new_account(), nil, nil, nil, nil
    _, account.last, account.spent, account.credit, account.rate, windows, classes, at = struct.unpack(HEADER, packed)
    if #packed < HEADER_BYTES + windows * WINDOW_HEADER_BYTES + classes * 4
        or not are_whole(account.last, account.spent, account.credit) or account.credit == 0 then
        return nil
    end
    local stamps, deadlines = {}, {}
    account.is_new = nil
    for i = 1, windows do
        local ticks, shift, remembered, held, held_since, admitted, refused
        ticks, shift, remembered, held, held_since, admitted, refused, at = struct.unpack(WINDOW_HEADER, packed, at)
        if ticks == 0 or shift > 40 or not are_moments(held_since) then
            return nil
        end
        local window = new_window(ticks, shift)
        window.remembered, window.held, window.held_since = remembered, held, held_since
        account.windows[i], stamps[i * 2 - 1], stamps[i * 2] = window, admitted, refused
    end
    for i = 1, classes do
        deadlines[i], at = struct.unpack('>I4', packed, at)
    end
    return read_lists(packed, at, account, stamps, deadlines)
end

-- Reads an account. A value that these functions did not write is a new one.
local function read_account(key)
    local packed = text_of(key)
    local format = packed and string.byte(packed)
    local account
    if format == PLAIN_FORMAT and #packed >= PLAIN_HEADER_BYTES then
        account = read_plain(packed)
    elseif format == FORMAT and #packed >= HEADER_BYTES then
        account = read_general(packed)
    end
    return account or new_account()
end

local function is_minute(window)
    return not window or window.ticks == MINUTE and window.shift == 0
end

local function is_plain(account)
    local windows = account.windows
    local second = windows[2]
    return account.credit == MINUTE and not windows[3] and not account.classes[3] and is_minute(windows[1])
        and is_minute(second)
        and not (second and (second.remembered > 0 or second.held > 0 or second.refused ~= ''))
end

local function packed_general(account)
    local parts = {
        struct.pack(HEADER, FORMAT, account.last, account.spent, account.credit, account.rate, #account.windows,
            #account.classes),
    }
    for _, window in ipairs(account.windows) do
        parts[#parts + 1] = struct.pack(WINDOW_HEADER, window.ticks, window.shift, window.remembered, window.held,
            window.held_since, #window.admitted / 4, #window.refused / 4)
    end
    for _, deadlines in ipairs(account.classes) do
        parts[#parts + 1] = struct.pack('>I4', #deadlines / 8)
    end
    for _, window in ipairs(account.windows) do
        parts[#parts + 1] = window.admitted
        parts[#parts + 1] = window.refused
    end
    return table.concat(parts) .. table.concat(account.classes)
end

local function packed_plain(account)
    local first, second = account.windows[1] or new_window(MINUTE, 0), account.windows[2] or new_window(MINUTE, 0)
    local reads, writes = account.classes[1] or '', account.classes[2] or ''
    return struct.pack(PLAIN_HEADER, PLAIN_FORMAT, account.last, account.spent, account.rate, first.remembered,
        first.held, first.held_since, #first.admitted / 4, #first.refused / 4, #second.admitted / 4, #reads / 8,
        #writes / 8) .. first.admitted .. first.refused .. second.admitted .. reads .. writes
end

-- Stores an account for as long as it differs from a new one, and for a minute at least: no stamp counts for longer than
-- its window, and the time of the account must not be forgotten sooner, or a clock that steps back would gain something.
-- A given time does not pass as that of the server does: then it is stored for longer.
local function write_account(key, account, given)
    local now, ttl = account.last, MINUTE
    for i = 1, #account.windows do
        local window = account.windows[i]
        if window.admitted ~= '' or window.refused ~= '' or window.held > 0 then
            ttl = math.max(ttl, window.ticks * window.tick_ms)
        end
    end
    for i = 1, #account.classes do
        local deadlines = account.classes[i]
        local running = #deadlines / 8
        if running > 0 then
            ttl = math.max(ttl, deadline_at(deadlines, running) - now)
        end
    end
    if account.spent > 0 and account.rate > 0 then
        ttl = math.max(ttl, math.ceil(account.spent / account.rate))
    end
    local packed = is_plain(account) and packed_plain(account) or packed_general(account)
    redis.call('SET', key, packed, 'PX', math.min(ttl, LONGEST_TTL) + (given >= 0 and GIVEN_TIME_TTL or 0))
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
    if given < 0 and silence < -MINUTE then
        local step = -silence
        account.last = now
        for _, window in ipairs(account.windows) do
            local ticks = math.floor(step / window.tick_ms)
            window.held_since = window.held_since - ticks
            window.admitted = moved_stamps(window.admitted, ticks)
            window.refused = moved_stamps(window.refused, ticks)
        end
        for i, deadlines in ipairs(account.classes) do
            account.classes[i] = moved_deadlines(deadlines, step)
        end
        silence = 0
    end
    if silence <= 0 then
        now = account.last
    else
        for i = 1, #account.windows do
            local window = account.windows[i]
            local tick = tick_of(window, now)
            if tick - tick_of(window, account.last) >= window.ticks then
                window.admitted, window.refused = '', ''
            else
                window.admitted = trimmed(window.admitted, tick % WORD, window.ticks)
                window.refused = trimmed(window.refused, tick % WORD, window.ticks)
            end
        end
        account.last = now
        account.spent = math.max(0, account.spent - silence * account.rate)
    end
    for i = 1, #account.windows do
        local window = account.windows[i]
        if window.held > 0 and tick_of(window, now) - window.held_since >= window.ticks then
            window.held = 0
        end
    end
    for i = 1, #account.classes do
        local deadlines = account.classes[i]
        if deadlines ~= '' then
            account.classes[i] = string.sub(deadlines, deadlines_until(deadlines, now) * 8 + 1)
        end
    end
    return now
end

-- Gives an account the windows and classes of a request. A window whose length has changed goes on with its stamps, unless
-- they were of other ticks.
local function fit(account, request)
    for i = 1, #request.windows do
        local wanted, window = request.windows[i], account.windows[i]
        if not window or window.shift ~= wanted.shift then
            account.windows[i] = new_window(wanted.ticks, wanted.shift)
        else
            window.ticks = wanted.ticks
        end
    end
    for i = #account.classes + 1, #request.classes do
        account.classes[i] = ''
    end
    if account.credit ~= request.credit then
        account.spent = math.floor(account.spent / account.credit * request.credit)
        account.credit = request.credit
    end
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

-- Counts an attempt in a window and returns true if it is admitted.
local function charge(window, wanted, now)
    local weight, remembered = wanted.weight, wanted.remembered
    local tick, refused = tick_of(window, now), #window.refused / 4
    if remembered < window.remembered then
        window.held, window.held_since = refused, tick
    end
    window.remembered = remembered
    if over(#window.admitted / 4 + refused, wanted.quota, weight) == 0 then
        window.admitted = window.admitted .. string.rep(stamp(tick), weight)
        return true
    end
    local room = math.max(remembered, window.held)
    weight = math.min(weight, MAX_WEIGHT, room)
    local surplus = math.max(0, refused + weight - room)
    window.refused = string.sub(window.refused, surplus * 4 + 1) .. string.rep(stamp(tick), weight)
    return false
end

-- Returns the ticks until the n-th oldest stamp of two lists has expired. A binary search finds how many of the
-- n oldest are of the first list.
local function expiry(first, second, n, low, ticks)
    local firsts, seconds = #first / 4, #second / 4
    local from, to = math.max(0, n - seconds), math.min(n, firsts)
    while from < to do
        local taken = from + math.floor((to - from) / 2)
        if left(first, taken + 1, low, ticks) < left(second, n - taken, low, ticks) then
            from = taken + 1
        else
            to = taken
        end
    end
    local wait = 0
    if from > 0 then
        wait = left(first, from, low, ticks)
    end
    if n > from then
        wait = math.max(wait, left(second, n - from, low, ticks))
    end
    return wait
end

local function wait_for_quota(window, wanted, now)
    local n = over(#window.admitted / 4 + #window.refused / 4, wanted.quota, wanted.weight)
    if n == 0 then
        return 0
    end
    local tick, wait = tick_of(window, now), window.ticks
    if n then
        wait = expiry(window.admitted, window.refused, n, tick % WORD, window.ticks)
    end
    return (tick + wait) * window.tick_ms - now
end

local function wait_for_credit(account, cost)
    local debt = account.spent - cost * account.credit
    return debt < 0 and 0 or math.floor(debt / cost) + 1
end

-- Returns the longest wait of the same request, were it made again, over the limits that refuse.
local function longest(account, request)
    local now, shadow, wait = account.last, request.shadow, 0
    for i, wanted in ipairs(request.windows) do
        if bit.band(shadow, BITS[i]) == 0 and wanted.weight > 0 then
            wait = math.max(wait, wait_for_quota(account.windows[i], wanted, now))
        end
    end
    for i, wanted in ipairs(request.classes) do
        if bit.band(shadow, BITS[#request.windows + i]) == 0 then
            wait = math.max(wait, wait_for_slots(account.classes[i], wanted.slots, wanted.most, now, request.deadline))
        end
    end
    if request.cost > 0 and bit.band(shadow, BITS[request.cost_number]) == 0 then
        wait = math.max(wait, wait_for_credit(account, request.cost))
    end
    return wait
end

-- Totals of an owner: the time of the last change, and the nanoseconds in which each drains, eight bytes each.

local function new_owner(now, totals)
    local owner = { at = now }
    for i = 1, totals do
        owner[i] = 0
    end
    return owner
end

local function read_owner(key, now, given, totals)
    local packed = text_of(key)
    if not packed or #packed ~= (totals + 1) * 8 then
        return new_owner(now, totals)
    end
    local owner = { at = deadline_at(packed, 1) }
    for i = 1, totals do
        owner[i] = deadline_at(packed, i + 1)
    end
    if not are_whole(owner.at, unpack(owner)) then
        return new_owner(now, totals)
    end
    if given < 0 and owner.at - now > MINUTE then
        owner.has_stepped, owner.at = true, now
    end
    local drained = math.max(0, now - owner.at) * 1000000
    for i = 1, totals do
        owner[i] = math.max(0, owner[i] - drained)
    end
    owner.at = math.max(owner.at, now)
    return owner
end

local function write_owner(key, owner, given)
    local most, packed = 0, struct.pack('>d', owner.at)
    for _, used in ipairs(owner) do
        most, packed = math.max(most, used), packed .. struct.pack('>d', used)
    end
    if most > 0 then
        redis.call('SET', key, packed, 'PX', math.min(math.ceil(most / 1000000), LONGEST_TTL)
            + (given >= 0 and GIVEN_TIME_TTL or 0))
    end
end

-- Returns the first total without room, and the milliseconds after which all of them have room.
local function owner_refusal(owner, shares)
    local first, wait = 0, 0
    for i, share in ipairs(shares) do
        if share.kind > 0 then
            local excess = owner[i] + math.min(math.max(share.time, 1), share.full) - share.full
            if share.kind == 2 then
                excess = share.full
            end
            if excess > 0 then
                first = first == 0 and i or first
                wait = math.max(wait, excess)
            end
        end
    end
    return first, math.ceil(wait / 1000000)
end

local function read_shares(packed, at, totals)
    local shares = {}
    for i = 1, totals do
        local kind, share_time, full
        kind, share_time, full, at = struct.unpack(SHARE, packed, at)
        shares[i] = { kind = kind, time = share_time, full = full }
    end
    return shares
end

local function read_request(packed)
    local request, given, windows, classes, at = { windows = {}, classes = {} }, nil, nil, nil, nil
    given, request.flags, request.shadow, windows, classes, request.cost, request.credit, request.deadline, at =
        struct.unpack(REQUEST, packed)
    for i = 1, windows do
        local window = {}
        window.quota, window.weight, window.remembered, window.ticks, window.shift, at =
            struct.unpack(WINDOW_OF_REQUEST, packed, at)
        request.windows[i] = window
    end
    for i = 1, classes do
        local class = {}
        class.slots, class.most, at = struct.unpack(CLASS_OF_REQUEST, packed, at)
        request.classes[i] = class
    end
    request.cost_number = windows + classes + 1
    return request, given, at
end

-- Decides about a request. The reply to one that is admitted is 0, the time, the limits in shadow mode that would have
-- refused it, and the wait of the same request were it made again, if that was asked for; to one that is refused, the
-- number of the limit, the wait, and the limits in shadow mode.
local function admit(keys, args)
    local request, given, at = read_request(args[1])
    local account = read_account(keys[1])
    local now = advance(account, time(given), given)
    fit(account, request)

    local first, shadowed = 0, 0
    local function exceeds(limit)
        if bit.band(request.shadow, BITS[limit]) ~= 0 then
            shadowed = shadowed + BITS[limit]
        elseif first == 0 then
            first = limit
        end
    end
    for i = 1, #request.windows do
        local wanted = request.windows[i]
        if wanted.weight > 0 and not charge(account.windows[i], wanted, now) then
            exceeds(i)
        end
    end
    for i = 1, #request.classes do
        local wanted = request.classes[i]
        if wanted.slots > 0 and #account.classes[i] / 8 + wanted.slots > wanted.most then
            exceeds(#request.windows + i)
        end
    end
    if request.cost > 0 then
        account.rate = request.cost
        if account.spent >= request.cost * account.credit then
            exceeds(request.cost_number)
        end
    end

    local owner, owner_wait, shares = nil, 0, nil
    if keys[2] then
        local totals = #request.windows + 1
        owner, shares = read_owner(keys[2], now, given, totals), read_shares(args[1], at, totals)
        local owner_first
        owner_first, owner_wait = owner_refusal(owner, shares)
        if first == 0 and owner_first > 0 then
            first = owner_first < totals and owner_first or request.cost_number
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
    for i = 1, #request.classes do
        local wanted = request.classes[i]
        account.classes[i] = with_deadlines(account.classes[i], now + request.deadline, wanted.slots)
    end
    write_account(keys[1], account, given)
    if owner then
        for i, share in ipairs(shares) do
            owner[i] = math.min(owner[i] + share.time, MOST)
        end
        write_owner(keys[2], owner, given)
    end
    return { 0, now, shadowed, next_wait }
end

-- Takes the cost of a request, frees its slots, or takes its charge back.
local function settle(keys, args)
    local given, cost, rate, credit, deadline, undone, undone_at, classes, owner_time, at =
        struct.unpack(SETTLEMENT, args[1])
    local account = read_account(keys[1])
    local now = advance(account, time(given), given)
    if account.is_new then
        account.credit = credit
    end
    account.spent = math.min(account.spent + cost * account.credit, MOST)
    if account.rate == 0 then
        account.rate = rate
    end
    for i = 1, classes do
        local slots
        slots, at = struct.unpack('>I4', args[1], at)
        if slots > 0 and account.classes[i] then
            account.classes[i] = without_deadlines(account.classes[i], deadline, slots)
        end
    end
    local window = account.windows[1]
    if undone > 0 and window then
        local tick = tick_of(window, undone_at)
        local wanted, age = stamp(tick), tick_of(window, now) - tick
        for i = #window.admitted / 4, 1, -1 do
            if undone == 0 or age >= window.ticks then
                break
            elseif string.sub(window.admitted, i * 4 - 3, i * 4) == wanted then
                window.admitted = string.sub(window.admitted, 1, i * 4 - 4) .. string.sub(window.admitted, i * 4 + 1)
                undone = undone - 1
            end
        end
    end
    if cost > 0 or not account.is_new then
        write_account(keys[1], account, given)
    end
    if keys[2] and owner_time > 0 then
        local totals = struct.unpack('>B', args[1], at)
        local owner = read_owner(keys[2], now, given, totals)
        owner[totals] = math.min(owner[totals] + owner_time, MOST)
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
    return packed_general(account)
end

redis.register_function('@LIBRARY@_admit', admit)
redis.register_function('@LIBRARY@_settle', settle)
redis.register_function { function_name = '@LIBRARY@_state', callback = state, flags = { 'no-writes' } }
