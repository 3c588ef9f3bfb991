import express, { type Router } from 'express';
import type { Settings } from '../domain/services.ts';

/** Placeholder. */
export function createSite(_settings: Settings): Router {
  return express.Router();
}
