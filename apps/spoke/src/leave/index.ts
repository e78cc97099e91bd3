export { startLeaveRole } from './leave-role.js';
