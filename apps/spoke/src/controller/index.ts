export { startControllerRole } from './controller-role.js';
