/** By code of the server; what is not here is shown in the server's own English. */
export default {
  NETWORK: 'The server cannot be reached. Nothing you typed is lost: try again in a moment.',
  UNAUTHENTICATED: 'Your session has ended. Sign in again.',
  internal: 'Something went wrong on the server. Try again; if it stays so, its log says why.',
  unavailable: 'The server is busy or its database is away. Try again in a moment.',
  storage_full: 'The disk of the server is full. Nothing was saved.',
};
