//! Search for rows that contradict other rows.

/// Queries that find rows which must not exist, each with the text of the problem.
pub(super) const CONTRADICTIONS: &[(&str, &str)] = &[
    (
        "an edge has no node at an end (source, relation, target)",
        "SELECT src || ' ' || rel || ' ' || dst FROM edge e
         WHERE NOT EXISTS (SELECT 1 FROM node WHERE gid = e.src)
            OR NOT EXISTS (SELECT 1 FROM node WHERE gid = e.dst)",
    ),
    (
        "the journal has a gap after",
        "SELECT seq::text FROM journal j WHERE seq < (SELECT max(seq) FROM journal)
            AND NOT EXISTS (SELECT 1 FROM journal n WHERE n.seq = j.seq + 1)",
    ),
    (
        "the journal does not begin and end where the state of the store says (begins after, ends with)",
        "SELECT s.pruned || ' ' || s.seq FROM store_state s
         WHERE coalesce((SELECT max(seq) FROM journal), s.pruned) <> s.seq
            OR coalesce((SELECT min(seq) FROM journal) - 1, s.seq) <> s.pruned",
    ),
    (
        "there is not one row with the state of the store",
        "SELECT count(*)::text FROM store_state HAVING count(*) <> 1",
    ),
    (
        "the end of the audit log is not what the state of the store says (row)",
        "SELECT s.audit_seq::text FROM store_state s
         WHERE EXISTS (SELECT 1 FROM audit a WHERE a.seq > s.audit_seq)
            OR s.audit_seq > 0 AND NOT EXISTS (SELECT 1 FROM audit a WHERE a.seq = s.audit_seq
                AND a.gid = s.audit_gid AND a.at = s.audit_at AND a.digest = s.audit_digest)",
    ),
    (
        "a node was created by a commit that the journal does not reach",
        "SELECT gid::text FROM node WHERE seq > (SELECT seq FROM store_state)",
    ),
    (
        "an edge was made by a commit that the journal does not reach (source, relation, target)",
        "SELECT src || ' ' || rel || ' ' || dst FROM edge WHERE seq > (SELECT seq FROM store_state)",
    ),
    (
        "a name points to no node",
        "SELECT coalesce(text, key) FROM alias a WHERE NOT EXISTS (SELECT 1 FROM node WHERE gid = a.gid)",
    ),
    (
        "a value has no task or no custom field (field, task)",
        "SELECT field || ' ' || node FROM value v WHERE NOT EXISTS (SELECT 1 FROM node WHERE gid = v.node)
            OR NOT EXISTS (SELECT 1 FROM node WHERE gid = v.field)",
    ),
    (
        "an index entry has no live node (node)",
        "SELECT gid::text FROM card c WHERE NOT EXISTS (SELECT 1 FROM node n WHERE n.gid = c.gid
            AND n.gone IS NULL AND n.kind = c.kind AND coalesce(n.home, 0) = c.home)",
    ),
    (
        "words have no index entry (node)",
        "SELECT DISTINCT gid::text FROM word w WHERE NOT EXISTS
            (SELECT 1 FROM card c WHERE c.home = w.home AND c.kind = w.kind AND c.gid = w.gid)",
    ),
    (
        "a token has no account",
        "SELECT id::text FROM token t WHERE NOT EXISTS (SELECT 1 FROM account a WHERE a.user = t.user)",
    ),
    (
        "a login has no account",
        "SELECT l.user::text FROM login l WHERE NOT EXISTS (SELECT 1 FROM account a WHERE a.user = l.user)",
    ),
    (
        "an authorization has no account or no app",
        "SELECT id::text FROM \"authorization\" g
         WHERE NOT EXISTS (SELECT 1 FROM account a WHERE a.user = g.user)
            OR NOT EXISTS (SELECT 1 FROM app WHERE id = g.app)",
    ),
    (
        "an issued token has no authorization or no refresh token",
        "SELECT id::text FROM token t WHERE t.refresh IS NOT NULL
            AND (NOT EXISTS (SELECT 1 FROM \"authorization\" g WHERE g.id = t.authorization)
                OR NOT EXISTS (SELECT 1 FROM token r WHERE r.id = t.refresh AND r.kind = 'refresh'))",
    ),
    (
        "a webhook has an app that holds no refresh token",
        "SELECT id::text FROM hook h WHERE app IS NOT NULL AND NOT EXISTS
            (SELECT 1 FROM token t JOIN \"authorization\" g ON g.id = t.authorization
                WHERE t.user = h.user AND t.app = h.app AND t.kind = 'refresh'
                    AND t.revoked_at IS NULL AND g.revoked_at IS NULL)",
    ),
    (
        "a code has no authorization (app, user)",
        "SELECT c.app || ' ' || c.user FROM code c
         WHERE NOT EXISTS (SELECT 1 FROM \"authorization\" g WHERE g.id = c.authorization)",
    ),
    (
        "an account that is switched off has something that works (user)",
        "SELECT a.user::text FROM account a WHERE a.disabled
            AND (EXISTS (SELECT 1 FROM token t WHERE t.user = a.user AND t.revoked_at IS NULL AND t.refresh IS NULL)
                OR EXISTS (SELECT 1 FROM \"authorization\" g WHERE g.user = a.user AND g.revoked_at IS NULL)
                OR EXISTS (SELECT 1 FROM session s WHERE s.user = a.user)
                OR EXISTS (SELECT 1 FROM hook h WHERE h.user = a.user))",
    ),
];
