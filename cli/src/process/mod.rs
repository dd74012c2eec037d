//! Programs that run, or are to: how they are started and stopped, what is in them, and to what
//! their calls lead.

pub mod allocator; // with what one allocates
pub mod binding; // to what a reference leads
pub mod deepbind; // which modules look in their own libraries first
pub mod execute; // put a program in this process's place
pub mod group; // a control group
pub mod inherited; // signal dispositions to hand on to a program
pub mod last_look; // look at processes when they end
pub mod launch; // how a program starts: PATH, scripts, environment
pub mod memory; // the memory of a process
pub mod modules; // the modules of a process
pub mod preload; // what LD_PRELOAD holds
pub mod supervise; // run a program as a child
pub mod trace; // start a program and stop it before main
pub mod tree; // a process and what it has started
pub mod witness; // whether a signal was sent to this command alone
