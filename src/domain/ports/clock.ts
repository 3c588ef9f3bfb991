/** The service's time. Tests inject one they move by hand. */
export interface Clock {
  now(): Date;
}
