/** By code of the server; what is not here is shown in the server's own English. */
export default {
  NETWORK: 'The server cannot be reached. Nothing you typed is lost: try again in a moment.',
  UNAUTHENTICATED: 'Your session has ended. Sign in again.',
  internal: 'Something went wrong on the server. Try again; if it stays so, its log says why.',
  unavailable: 'The server is busy or its database is away. Try again in a moment.',
  storage_full: 'The disk of the server is full or read-only. Nothing was saved.',
  rate_limited: 'Too many attempts. Wait a moment, then try again.',
  rate_limited_for_one: 'Too many failed attempts. Try again in {{count}} minute.',
  rate_limited_for_other: 'Too many failed attempts. Try again in {{count}} minutes.',
  wrong_password: 'The password is wrong.',
  request_timeout: 'The server waited too long for the request. Try again.',
  git_timeout: 'git took too long. Try again; if it stays so, the repository is too large for this server.',
  repository_unavailable: 'The repository cannot be read at the moment. Try again in a moment.',
  branch_moved: 'Somebody saved meanwhile. Load the page again to see it, then do it once more.',
  sha_mismatch: 'Somebody changed this meanwhile. Nothing was overwritten.',
  version_mismatch: 'Somebody changed this meanwhile. Nothing was overwritten.',
  precondition_failed: 'Somebody changed this meanwhile. Nothing was overwritten.',
  reauthentication_required: 'This needs your password once more.',
  unsupported_media:
    'This kind of file is not accepted, or the file is not of the kind its name says. Pictures, video, sound, fonts, PDF, office documents and plain text are.',
  checks_failed: 'Publishing is held back: the checks found faults that the published version does not have.',
};
